import sharp from 'sharp';

/** Returns a small PNG to upload. */
export async function avatarFile(): Promise<Blob> {
  const image = sharp({ create: { width: 8, height: 8, channels: 3, background: 'teal' } });
  return new Blob([new Uint8Array(await image.png().toBuffer())]);
}
