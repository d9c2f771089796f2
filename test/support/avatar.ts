import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import * as api from '../../generated/sdk.gen.ts';
import { DEFAULT_AVATAR_NAME } from '../../server/avatars/store.ts';
import { MARKER_NAME } from '../../server/storage/database-marker.ts';
import type { TestApp } from './app.ts';
import type { TestUser } from './client.ts';

/** Returns a small PNG to upload. */
export async function avatarFile(): Promise<Blob> {
  const image = sharp({ create: { width: 8, height: 8, channels: 3, background: 'teal' } });
  return new Blob([new Uint8Array(await image.png().toBuffer())]);
}

/** Uploads a small avatar and returns its URL. */
export async function uploadAvatar({ client }: Pick<TestUser, 'client'>): Promise<string> {
  const body = { avatar: await avatarFile() };
  const { data } = await api.changeProfilePicture({ client, body, throwOnError: true });
  return data.profile_picture;
}

/** Deletes discarded avatars. Returns the remaining files in the avatar folder, except the default and the marker. */
export async function listAvatarFiles({ context }: Pick<TestApp, 'context'>): Promise<string[]> {
  await context.housekeeping.run();
  const names = await readdir(join(context.config.dataDir, 'avatars'));
  return names.filter((name) => name !== DEFAULT_AVATAR_NAME && name !== MARKER_NAME);
}
