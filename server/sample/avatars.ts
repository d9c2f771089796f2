import sharp from 'sharp';

const EDGE_PIXELS = 512;

/** Returns an avatar: a gradient of related colours, as a WebP file. */
export function drawAvatar(random: () => number): Promise<Buffer> {
  const hue = 360 * random();
  const colours = [0, 25, 50, 75].map((distance) => rgb(hue + distance, 0.5 + 0.2 * random()));
  return sharp(Uint8Array.from(colours.flat()), { raw: { width: 2, height: 2, channels: 3 } })
    .resize(EDGE_PIXELS, EDGE_PIXELS, { kernel: 'cubic' })
    .webp()
    .toBuffer();
}

/** Converts a colour of HSL with a saturation of 65 % (CSS Color 4, section 7.1). */
function rgb(hue: number, lightness: number): number[] {
  const amount = 0.65 * Math.min(lightness, 1 - lightness);
  return [0, 8, 4].map((offset) => {
    const k = (offset + hue / 30) % 12;
    return 255 * (lightness - amount * Math.max(-1, Math.min(k - 3, 9 - k, 1)));
  });
}
