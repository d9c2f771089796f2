import type { Client } from '../generated/client/index.ts';
import * as sdk from '../generated/sdk.gen.ts';
import type { AccountData, Confirmation, Picture, Profile } from '../generated/types.gen.ts';
import { type AccessToken, type ApiOptions, createApiClient, receiveObject } from './http.ts';

/** An avatar to upload: a `Blob`, a `File`, or a file reference from a React Native picker. */
export type AvatarFile =
  | (Blob & { name?: string })
  | { uri: string; type?: string | null; name?: string | null };

/** The profile of the signed-in user. Every method throws an `ApiError` if its request fails. */
export class ProfileAPI {
  readonly #client: Client;

  /** @throws TypeError if `baseUrl` is not an HTTP URL, a path or empty */
  constructor(options: ApiOptions & { token: AccessToken }) {
    this.#client = createApiClient(options, options?.token);
  }

  /**
   * Returns the profile, with statistics computed at request time.
   * @throws {@link ApiError}
   */
  getProfile(): Promise<Profile> {
    return receiveObject(sdk.getProfile({ client: this.#client }), 'user_id');
  }

  /**
   * Changes the username.
   * @param username 2 to 64 code points
   * @throws {@link ApiError} with status 409 if the username is taken or reserved
   */
  changeUsername(username: string): Promise<Confirmation> {
    const body = { username };
    return receiveObject(sdk.changeUsername({ client: this.#client, body }), 'message');
  }

  /**
   * Changes the bio. An empty string clears it.
   * @param bio at most 500 characters (grapheme clusters) and 2,000 code points
   * @throws {@link ApiError}
   */
  changeBio(bio: string): Promise<Confirmation> {
    return receiveObject(sdk.changeBio({ client: this.#client, body: { bio } }), 'message');
  }

  /**
   * Uploads a new avatar and returns its URL.
   * @param file a JPEG, PNG, WebP or GIF file of at most 5,242,880 bytes; the default type is
   *   `image/jpeg`, the default name `avatar-<milliseconds since 1970>.jpg`
   * @throws {@link ApiError} with status 413 if the file is too large, 415 if it has another type,
   *   422 if it is damaged or has more than 64 megapixels
   */
  changeProfilePicture(file: AvatarFile): Promise<Picture> {
    const request = sdk.changeProfilePicture({
      client: this.#client,
      body: { avatar: file as Blob },
      bodySerializer: () => createAvatarForm(file),
    });
    return receiveObject(request, 'profile_picture');
  }

  /**
   * Restores the default avatar and returns its URL.
   * @throws {@link ApiError}
   */
  removeProfilePicture(): Promise<Picture> {
    return receiveObject(sdk.removeProfilePicture({ client: this.#client }), 'profile_picture');
  }

  /**
   * Changes the password and ends all other sessions of the account.
   * @param newPassword 8 to 256 code points
   * @throws {@link ApiError} with status 403 if `currentPassword` is wrong
   */
  changePassword(currentPassword: string, newPassword: string): Promise<Confirmation> {
    const body = { currentPassword, newPassword };
    return receiveObject(sdk.changePassword({ client: this.#client, body }), 'message');
  }

  /**
   * Returns everything that the service stores about the account, which can be hundreds of megabytes.
   * @throws {@link ApiError}
   */
  downloadAccountData(): Promise<AccountData> {
    return receiveObject(sdk.downloadAccountData({ client: this.#client }), 'account');
  }

  /**
   * Permanently deletes the account and everything in it.
   * @param options.confirm asks the user; no request is sent unless it returns exactly `true`
   * @returns null if the user does not confirm
   * @throws {@link ApiError}, or the error that `confirm` throws
   */
  async deleteAccount({
    confirm,
  }: {
    confirm: () => boolean | Promise<boolean>;
  }): Promise<Confirmation | null> {
    // Some dialog libraries return an object, which is truthy even if the user cancels.
    if ((await confirm()) !== true) return null;
    return receiveObject(sdk.deleteAccount({ client: this.#client }), 'message');
  }
}

function createAvatarForm(file: AvatarFile): FormData {
  const form = new FormData();
  const type = file.type || 'image/jpeg';
  const name = file.name || `avatar-${Date.now()}.jpg`;
  if ('uri' in file) {
    // React Native's FormData reads the file itself. The DOM types do not declare such parts.
    form.append('avatar', { uri: file.uri, type, name } as unknown as Blob);
  } else {
    // `slice` copies the Blob with another type.
    form.append('avatar', file.type ? file : file.slice(0, file.size, type), name);
  }
  return form;
}
