import sharp from 'sharp';

/** A small picture, for where it matters only that there is one. */
export async function picture(): Promise<Blob> {
  const image = sharp({ create: { width: 8, height: 8, channels: 3, background: 'teal' } });
  return new Blob([new Uint8Array(await image.png().toBuffer())]);
}
