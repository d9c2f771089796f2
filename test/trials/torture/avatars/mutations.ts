import { crc32 } from 'node:zlib';
import sharp from 'sharp';
import { type RandomInteger, randomIntegers } from '../../../support/random.ts';

/** Returns small valid images of every type and variant. */
export async function validImages(): Promise<Buffer[]> {
  const random = randomIntegers(1);
  const image = (channels: 3 | 4, width = 24, height = 20) => {
    const pixels = Buffer.from(
      Array.from({ length: width * height * channels }, (_, i) => (i * 3 + random(40)) % 256),
    );
    return sharp(pixels, { raw: { width, height, channels } });
  };
  const withMetadata = () =>
    image(3)
      .withIccProfile('p3')
      .withXmp('<x:xmpmeta xmlns:x="adobe:ns:meta/">Somewhere</x:xmpmeta>')
      .withMetadata({ orientation: 6 })
      .withExifMerge({ IFD0: { Copyright: 'Somebody' } });
  const frames = await Promise.all([1, 2, 3].map(() => image(4).png().toBuffer()));
  const animation = () => sharp(frames, { join: { animated: true } });
  return Promise.all(
    [
      image(3).jpeg(),
      image(3).jpeg({ progressive: true }),
      image(3).greyscale().jpeg(),
      image(3).toColourspace('cmyk').jpeg(),
      withMetadata().jpeg(),
      image(3).png(),
      image(4).png({ progressive: true }),
      image(3).png({ palette: true }),
      image(4).toColourspace('rgb16').png(),
      image(3).greyscale().png(),
      withMetadata().png(),
      image(3).webp(),
      image(4).webp(),
      image(4).webp({ lossless: true }),
      withMetadata().webp(),
      animation().webp(),
      image(3).gif(),
      image(4).gif({ progressive: true }),
      animation().gif(),
    ].map((each) => each.toBuffer()),
  );
}

/** Damages an image, sometimes with parts of another one. Repairs the checksums of half of the PNGs. */
export function mutate(images: readonly Buffer[], random: RandomInteger): Buffer {
  const pickImage = () => images[random(images.length)] as Buffer;
  let bytes: Buffer = Buffer.from(pickImage());
  const changes = 1 + random(4);
  for (let i = 0; i < changes; i += 1) bytes = change(bytes, pickImage(), random);
  return random(2) === 0 ? repairPng(bytes) : bytes;
}

const EXTREME_VALUES = [0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff];

function change(bytes: Buffer, other: Buffer, random: RandomInteger): Buffer {
  if (bytes.length < 16) return Buffer.from(other);
  // Headers are at the beginning, so damage it more often.
  const pickOffset = () => random(random(2) === 0 ? bytes.length : Math.min(64, bytes.length));
  const [from, to] = [pickOffset(), pickOffset()].sort((a, b) => a - b) as [number, number];
  const extreme = EXTREME_VALUES[random(EXTREME_VALUES.length)] ?? 0;
  const at = Math.min(from, bytes.length - 4);
  switch (random(9)) {
    case 0:
      bytes[from] = (bytes[from] ?? 0) ^ (1 << random(8));
      return bytes;
    case 1:
      bytes[from] = random(256);
      return bytes;
    case 2:
      if (random(2) === 0) bytes.writeUInt32BE(extreme, at);
      else bytes.writeUInt32LE(extreme, at);
      return bytes;
    case 3:
      if (random(2) === 0) bytes.writeUInt16BE(extreme & 0xffff, at);
      else bytes.writeUInt16LE(extreme & 0xffff, at);
      return bytes;
    case 4:
      return bytes.subarray(0, random(bytes.length));
    case 5:
      return Buffer.concat([bytes.subarray(0, from), bytes.subarray(to)]);
    case 6:
      return Buffer.concat([bytes.subarray(0, to), bytes.subarray(from)]);
    case 7: {
      const start = random(other.length);
      const part = other.subarray(start, start + random(200));
      return Buffer.concat([bytes.subarray(0, from), part, bytes.subarray(from)]);
    }
    default:
      return Buffer.concat([bytes.subarray(0, from), other.subarray(random(other.length))]);
  }
}

/** Corrects the checksums of a PNG, so that its decoder continues with the damaged chunks. */
function repairPng(bytes: Buffer): Buffer {
  if (bytes.toString('latin1', 1, 4) !== 'PNG') return bytes;
  const png = Buffer.from(bytes);
  for (let at = 8; at + 12 <= png.length; ) {
    const end = at + 8 + png.readUInt32BE(at);
    if (end + 4 > png.length) break;
    png.writeUInt32BE(crc32(png.subarray(at + 4, end)), end);
    at = end + 4;
  }
  return png;
}
