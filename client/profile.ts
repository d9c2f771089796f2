import type { Client } from '../generated/client/index.ts';
import * as sdk from '../generated/sdk.gen.ts';
import type { Confirmation, Picture, Profile } from '../generated/types.gen.ts';
import { type AccessToken, type ApiOptions, connect, dataOf } from './http.ts';

/** An avatar to upload: a `Blob` or `File`, or where React Native's pickers say that it lies. */
export type AvatarFile =
  | (Blob & { name?: string })
  | { uri: string; type?: string | null; name?: string | null };

/** The signed-in user's account. Methods reject with an `ApiError` when their request fails. */
export class ProfileAPI {
  readonly #client: Client;

  constructor({ token, ...options }: ApiOptions & { token: AccessToken }) {
    this.#client = connect(options, token);
  }

  /** Reads the profile, with statistics as of now. */
  getProfile(): Promise<Profile> {
    return dataOf(sdk.getProfile({ client: this.#client }), 'user_id');
  }

  /** Changes the username; 409 `username_taken` where another account has it, or one like it. */
  changeUsername(username: string): Promise<Confirmation> {
    return dataOf(sdk.changeUsername({ client: this.#client, body: { username } }), 'message');
  }

  /** Changes the bio; an empty one clears it. */
  changeBio(bio: string): Promise<Confirmation> {
    return dataOf(sdk.changeBio({ client: this.#client, body: { bio } }), 'message');
  }

  /**
   * Uploads a new avatar: a JPEG, PNG, WebP or GIF of at most 5,242,880 bytes. Without a type it
   * is sent as `image/jpeg`, without a name as `avatar-<milliseconds since 1970>.jpg`.
   */
  changeProfilePicture(file: AvatarFile): Promise<Picture> {
    const request = sdk.changeProfilePicture({
      client: this.#client,
      body: { avatar: file as Blob },
      bodySerializer: () => avatarForm(file),
    });
    return dataOf(request, 'profile_picture');
  }

  /** Goes back to the default avatar. */
  removeProfilePicture(): Promise<Picture> {
    return dataOf(sdk.removeProfilePicture({ client: this.#client }), 'profile_picture');
  }

  /** Ends every other session; 403 `current_password_incorrect` where the current one is wrong. */
  changePassword(currentPassword: string, newPassword: string): Promise<Confirmation> {
    const body = { currentPassword, newPassword };
    return dataOf(sdk.changePassword({ client: this.#client, body }), 'message');
  }

  /**
   * Deletes the account with everything in it, for ever.
   * @param options.confirm asks the user; nothing is sent unless it answers exactly `true`
   * @returns null when the user did not confirm
   */
  async deleteAccount({
    confirm,
  }: {
    confirm: () => boolean | Promise<boolean>;
  }): Promise<Confirmation | null> {
    // Dialog libraries that answer with an object would confirm by being truthy.
    if ((await confirm()) !== true) return null;
    return dataOf(sdk.deleteAccount({ client: this.#client }), 'message');
  }
}

function avatarForm(file: AvatarFile): FormData {
  const form = new FormData();
  const type = file.type || 'image/jpeg';
  const name = file.name || `avatar-${Date.now()}.jpg`;
  if ('uri' in file) {
    // React Native's FormData reads the file itself. The DOM's types know no such parts.
    form.append('avatar', { uri: file.uri, type, name } as unknown as Blob);
  } else {
    form.append('avatar', file.type ? file : file.slice(0, file.size, type), name);
  }
  return form;
}
