import sharp from 'sharp';
import * as api from '../../generated/sdk.gen.ts';
import type { TestUser } from './app.ts';

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
