import { deflateSync } from 'node:zlib';
import sharp, { type Sharp } from 'sharp';
import { beforeAll, describe, expect, test } from 'vitest';
import type { ProblemCode } from '../../generated/problem-codes.gen.ts';
import { stripMetadata } from '../../server/avatars/metadata.ts';
import { renderAvatar } from '../../server/avatars/rendering.ts';
import { DomainError } from '../../server/errors.ts';
import { loopingExif, pngChunk, webpChunks } from '../support/image-chunks.ts';
import { type RandomInteger, randomIntegers } from '../support/random.ts';

type Colour = [red: number, green: number, blue: number];
const red: Colour = [220, 30, 30];
const green: Colour = [30, 200, 30];
const blue: Colour = [30, 30, 220];
const white: Colour = [250, 250, 250];

const formats = ['jpeg', 'png', 'webp', 'gif'] as const;

describe('renderAvatar', () => {
  test.each(formats)('returns a WebP of 512 x 512 pixels for a small %s', async (format) => {
    const avatar = await renderAvatar(await quarters(40, 30).toFormat(format).toBuffer());
    expect(await sharp(avatar).metadata()).toMatchObject({
      format: 'webp',
      width: 512,
      height: 512,
      space: 'srgb',
    });
    await expectCorners(avatar, [red, green, blue, white]);
  });

  test('crops an image that is not square to its centre', async () => {
    const thirds = canvas(300, 100, (x) => (x < 100 ? red : x < 200 ? green : blue));
    await expectCorners(await renderAvatar(await thirds.png().toBuffer()), [
      green,
      green,
      green,
      green,
    ]);
  });

  describe.each(['jpeg', 'png', 'webp'] as const)('of a %s with metadata', (format) => {
    test.each([1, 2, 3, 4, 5, 6, 7, 8])('rotates orientation %i upright', async (orientation) => {
      const upload = await withMetadata(quarters(120, 80), orientation)
        .toFormat(format, { quality: 95 })
        .toBuffer();
      expect(await sharp(upload).metadata()).toMatchObject({ orientation });
      const upright = await sharp(upload, { autoOrient: true }).resize(512, 512).png().toBuffer();
      await expectCorners(await renderAvatar(upload), await readCorners(upright));
    });

    test('removes the metadata', async () => {
      const upload = await withMetadata(quarters(120, 80), 6).toFormat(format).toBuffer();
      const before = await sharp(upload).metadata();
      expect(before.exif?.includes('Somebody')).toBe(true);
      expect(before.xmp?.includes('Somewhere')).toBe(true);
      expect(before.icc).toBeDefined();

      const avatar = await renderAvatar(upload);
      const after = await sharp(avatar).metadata();
      expect(after).not.toHaveProperty('exif');
      expect(after).not.toHaveProperty('xmp');
      expect(after).not.toHaveProperty('icc');
      expect(after).not.toHaveProperty('orientation');
      expect(webpChunks(avatar)).toEqual(['VP8 ']);
    });
  });

  test('rotates orientation 6 clockwise', async () => {
    // The top left corner of the stored image belongs at the top right.
    const upload = await withMetadata(quarters(120, 80), 6).jpeg({ quality: 95 }).toBuffer();
    await expectCorners(await renderAvatar(upload), [blue, red, white, green]);
  });

  test.each([
    ['8-bit JPEG', 'srgb', 'jpeg'],
    ['8-bit PNG', 'srgb', 'png'],
    ['16-bit PNG', 'rgb16', 'png'],
  ] as const)('converts a Display P3 %s to sRGB', async (_, space, format) => {
    const upload = await canvas(64, 64, () => red)
      .toColourspace(space)
      .withIccProfile('p3')
      .toFormat(format)
      .toBuffer();
    expect((await readPixel(upload, 10, 10)).at(0)).toBeLessThan(red[0] - 10);
    await expectCorners(await renderAvatar(upload), [red, red, red, red]);
  });

  test('keeps transparency', async () => {
    const background = { r: 30, g: 30, b: 220, alpha: 0.5 };
    const create = { width: 64, height: 64, channels: 4, background } as const;
    const avatar = await renderAvatar(await sharp({ create }).png().toBuffer());
    expect((await readPixel(avatar, 256, 256)).at(3)).toBe(128);
    expect(webpChunks(avatar)).toEqual(['VP8X', 'ALPH', 'VP8 ']);
  });

  test.each(['gif', 'webp'] as const)(
    'renders the first frame of an animated %s',
    async (format) => {
      const frames = await Promise.all(
        [red, green, blue].map((colour) =>
          canvas(48, 48, () => colour)
            .png()
            .toBuffer(),
        ),
      );
      const upload = await sharp(frames, { join: { animated: true } })
        .toFormat(format)
        .toBuffer();
      expect((await sharp(upload, { animated: true }).metadata()).pages).toBe(3);
      const avatar = await renderAvatar(upload);
      expect((await sharp(avatar).metadata()).pages).toBeUndefined();
      await expectCorners(avatar, [red, red, red, red]);
    },
  );

  test('drops data appended to the image', async () => {
    const image = await quarters(64, 64).jpeg().toBuffer();
    const archive = Buffer.from('PK\x03\x04<script>alert(1)</script>');
    const avatar = await renderAvatar(Buffer.concat([image, archive]));
    expect(avatar.includes('script')).toBe(false);
    expect(webpChunks(avatar)).toEqual(['VP8 ']);
  });

  test('tolerates garbage between JPEG segments, which some cameras write', async () => {
    const image = await quarters(64, 64).jpeg().toBuffer();
    const tables = image.indexOf(Buffer.from([0xff, 0xc4]));
    const garbage = Buffer.from([1, 2, 3, 0xff, 0xff]);
    const upload = Buffer.concat([image.subarray(0, tables), garbage, image.subarray(tables)]);
    await expectCorners(await renderAvatar(upload), [red, green, blue, white]);
  });

  test('accepts a view of a larger buffer', async () => {
    const image = await quarters(64, 64).png().toBuffer();
    const larger = Buffer.concat([Buffer.alloc(100, 7), image, Buffer.alloc(100, 7)]);
    const view = new Uint8Array(larger.buffer, larger.byteOffset + 100, image.length);
    await expectCorners(await renderAvatar(view), [red, green, blue, white]);
  });
});

describe('renderAvatar on an unsupported file type', () => {
  const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect/></svg>';

  test.each<[string, string | Buffer]>([
    ['an empty file', ''],
    ['plain text', 'not an image'],
    ['an SVG', svg],
    ['an SVG with an XML declaration', `<?xml version="1.0"?>${svg}`],
    ['a PDF', '%PDF-1.7\n1 0 obj'],
    ['a bitmap', Buffer.from('BM\x36\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0', 'latin1')],
    ['a WAVE file in the RIFF container of WebP', 'RIFF\x24\0\0\0WAVEfmt '],
    ['the first bytes of a PNG', '\x89PNG'],
  ])('rejects %s', async (_, bytes) => {
    await expectRejection(Buffer.from(bytes), 'avatar_type_unsupported');
  });

  test.each(['tiff', 'avif'] as const)('rejects a %s image', async (format) => {
    const bytes = await quarters(16, 16).toFormat(format).toBuffer();
    await expectRejection(bytes, 'avatar_type_unsupported');
  });

  test('relies on a decoder that opens neither these formats nor file paths', async () => {
    const unsupported = 'unsupported image format';
    await expect(sharp(Buffer.from(svg)).metadata()).rejects.toThrow(unsupported);
    const tiff = await quarters(16, 16).tiff().toBuffer();
    await expect(sharp(tiff).metadata()).rejects.toThrow(unsupported);
    const avif = await quarters(16, 16).avif().toBuffer();
    await expect(sharp(avif).metadata()).rejects.toThrow(unsupported);
    const file = new URL('../../server/avatars/default.webp', import.meta.url).pathname;
    await expect(sharp(file).metadata()).rejects.toThrow(unsupported);
  });
});

describe('renderAvatar on undecodable content', () => {
  test.each(formats)('rejects a truncated %s', async (format) => {
    const whole = await noise(200, 200).toFormat(format).toBuffer();
    for (const share of [0.1, 0.6, 0.95]) {
      const truncated = whole.subarray(0, Math.floor(whole.length * share));
      await expectRejection(truncated, 'avatar_undecodable');
    }
  });

  test.each(formats)('rejects garbage after the signature of a %s', async (format) => {
    const signature = (await noise(9, 9).toFormat(format).toBuffer()).subarray(0, 12);
    await expectRejection(
      Buffer.concat([signature, Buffer.alloc(500, 0x41)]),
      'avatar_undecodable',
    );
  });

  test('rejects a small file of more than 64 megapixels without decoding it', {
    timeout: 5_000,
  }, async () => {
    const bomb = blankPng(16_000, 16_000);
    expect(bomb.length).toBeLessThan(50_000);
    const error = await expectRejection(bomb, 'avatar_undecodable');
    expect(error.message).toContain('64,000,000 pixels');
  });

  test('accepts 64,000,000 pixels and rejects more', async () => {
    expect(webpChunks(await renderAvatar(blankPng(8000, 8000)))).toEqual(['VP8 ']);
    await expectRejection(blankPng(8000, 8001), 'avatar_undecodable');
  });
});

test('A small image does not wait for large ones, of which one is decoded at a time', async () => {
  const small = await quarters(64, 64).png().toBuffer();
  const large = blankPng(8000, 8000);
  const finished: string[] = [];
  await Promise.all([
    renderAvatar(large).then(() => finished.push('large')),
    renderAvatar(large).then(() => finished.push('large')),
    renderAvatar(small).then(() => finished.push('small')),
  ]);
  expect(finished.at(-1)).toBe('large');
});

describe('renderAvatar on a decompression bomb', () => {
  test('drops all but 64 scans of a progressive JPEG', async () => {
    const image = await quarters(64, 64)
      .jpeg({ progressive: true, chromaSubsampling: '4:4:4' })
      .toBuffer();
    const first = image.indexOf(Buffer.from([0xff, 0xda]));
    const scan = Buffer.from([0xff, 0xda, 0, 8, 1, 1, 0, 1, 1, 0x10, 0]);
    const bomb = Buffer.concat([image.subarray(0, first), ...Array(3000).fill(scan)]);
    const bare = stripMetadata(bomb)?.bytes.toString('latin1');
    expect(bare?.split('\xff\xda')).toHaveLength(1 + 64);
    expect(bare?.endsWith('\xff\xd9')).toBe(true);
    await expectRejection(bomb, 'avatar_undecodable');
  });

  test('drops all but six scans of a progressive JPEG of 64 megapixels', async () => {
    const image = await quarters(64, 64).jpeg({ progressive: true }).toBuffer();
    const frame = image.indexOf(Buffer.from([0xff, 0xc2]));
    image.writeUInt16BE(8_000, frame + 5);
    image.writeUInt16BE(8_000, frame + 7);
    const first = image.indexOf(Buffer.from([0xff, 0xda]));
    const scan = Buffer.from([0xff, 0xda, 0, 8, 1, 1, 0, 1, 1, 0x10, 0]);
    const bomb = Buffer.concat([image.subarray(0, first), ...Array(64).fill(scan)]);
    const bare = stripMetadata(bomb)?.bytes.toString('latin1');
    expect(bare?.split('\xff\xda')).toHaveLength(1 + 6);
  });

  test.each(['gif', 'webp'] as const)('drops all but the first frame of a %s', async (format) => {
    const frames = [red, green, blue].map((colour) =>
      canvas(48, 48, () => colour)
        .png()
        .toBuffer(),
    );
    const animated = await sharp(await Promise.all(frames), { join: { animated: true } })
      .toFormat(format)
      .toBuffer();
    const countFrames = async (file: Uint8Array) =>
      (await sharp(file, { animated: true }).metadata()).pages;
    expect(await countFrames(animated)).toBe(3);
    expect(await countFrames(stripMetadata(animated)?.bytes ?? Buffer.of())).toBe(1);
  });

  test.each(['jpeg', 'png', 'webp'] as const)(
    'drops a self-referencing EXIF directory from a %s',
    { timeout: 5_000 },
    async (format) => {
      const avatar = await renderAvatar(await exifBomb(format));
      await expectCorners(avatar, [red, green, blue, white]);
    },
  );

  test('ignores a colour profile with a very long processing chain', {
    timeout: 5_000,
  }, async () => {
    const p3 = await sharp(await quarters(64, 64).withIccProfile('p3').png().toBuffer()).metadata();
    const image = await canvas(64, 64, () => [200, 61, 41])
      .png()
      .toBuffer();
    const avatar = await renderAvatar(
      insertChunk(
        image,
        'iCCP',
        Buffer.concat([
          Buffer.from('p\0\0'),
          deflateSync(profileWithChain(20_000, p3.icc ?? Buffer.alloc(0))),
        ]),
      ),
    );
    const unchanged: Colour = [200, 61, 41];
    await expectCorners(avatar, [unchanged, unchanged, unchanged, unchanged]);
  });
});

describe.each(formats)('renderAvatar on a damaged %s', (format) => {
  let whole: Buffer;
  beforeAll(async () => {
    const image = format === 'gif' ? quarters(24, 24) : withMetadata(quarters(24, 24), 5);
    whole = await image.toFormat(format).toBuffer();
  });

  test('returns an avatar without metadata or rejects it, in 30 of 30 cases', async () => {
    const random = randomIntegers(formats.indexOf(format) + 1);
    const outcomes = { rendered: 0, rejected: 0 };
    for (let i = 0; i < 30; i++) {
      try {
        const avatar = await renderAvatar(damage(whole, random));
        expect(['VP8 ', 'VP8X ALPH VP8 ']).toContain(webpChunks(avatar).join(' '));
        outcomes.rendered++;
      } catch (error) {
        if (!(error instanceof DomainError)) throw error;
        expect(error.code).toMatch(/^avatar_(type_unsupported|undecodable)$/);
        outcomes.rejected++;
      }
    }
    expect(outcomes.rendered).toBeGreaterThan(0);
    expect(outcomes.rejected).toBeGreaterThan(0);
  });
});

function canvas(width: number, height: number, colour: (x: number, y: number) => Colour): Sharp {
  const pixels = Buffer.alloc(width * height * 3);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) pixels.set(colour(x, y), (y * width + x) * 3);
  }
  return sharp(pixels, { raw: { width, height, channels: 3 } });
}

/** Creates an image with a red, green, blue and white quarter, in reading order. */
function quarters(width: number, height: number): Sharp {
  return canvas(width, height, (x, y) =>
    y < height / 2 ? (x < width / 2 ? red : green) : x < width / 2 ? blue : white,
  );
}

function noise(width: number, height: number): Sharp {
  const random = randomIntegers(7);
  return canvas(width, height, () => [random(256), random(256), random(256)]);
}

function withMetadata(image: Sharp, orientation: number): Sharp {
  return image
    .withIccProfile('srgb')
    .withXmp('<x:xmpmeta xmlns:x="adobe:ns:meta/">Somewhere</x:xmpmeta>')
    .withMetadata({ orientation })
    .withExifMerge({
      IFD0: { Copyright: 'Somebody' },
      IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '51/1 30/1 3230/100' },
    });
}

async function readPixel(image: Buffer, x: number, y: number): Promise<number[]> {
  const { data, info } = await sharp(image, { ignoreIcc: true })
    .raw()
    .toBuffer({ resolveWithObject: true });
  const at = (y * info.width + x) * info.channels;
  return [...data.subarray(at, at + info.channels)];
}

/** Returns the pixels at the top left, top right, bottom left and bottom right. */
async function readCorners(image: Buffer): Promise<number[][]> {
  return Promise.all(
    [
      [32, 32],
      [480, 32],
      [32, 480],
      [480, 480],
    ].map(([x = 0, y = 0]) => readPixel(image, x, y)),
  );
}

async function expectCorners(avatar: Buffer, expected: number[][]): Promise<void> {
  const actual = await readCorners(avatar);
  const distance = actual
    .flat()
    .map((value, i) => Math.abs(value - (expected.flat()[i] ?? Number.NaN)));
  expect(Math.max(...distance), `${JSON.stringify(actual)} is not ${JSON.stringify(expected)}`)
    // Two lossy encodings may shift a channel by this much.
    .toBeLessThanOrEqual(12);
}

async function expectRejection(bytes: Uint8Array, code: ProblemCode): Promise<DomainError> {
  const outcome = await renderAvatar(bytes).catch((error: unknown) => error);
  expect(outcome).toBeInstanceOf(DomainError);
  const error = outcome as DomainError;
  expect(error.code).toBe(code);
  expect(error.pointers.map(({ pointer }) => pointer)).toEqual(['/avatar']);
  expect(error.message).not.toMatch(/vips|sharp|buffer/i);
  return error;
}

/** Inserts a chunk after IHDR. */
function insertChunk(png: Buffer, type: string, data: Buffer): Buffer {
  return Buffer.concat([png.subarray(0, 33), pngChunk(type, data), png.subarray(33)]);
}

/** Returns a black PNG with one bit per pixel. */
function blankPng(width: number, height: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.writeUInt8(1, 8);
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    pngChunk('IHDR', header),
    pngChunk('IDAT', deflateSync(Buffer.alloc(height * (1 + Math.ceil(width / 8))))),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}

/** Returns an image with a `loopingExif`. */
async function exifBomb(format: 'jpeg' | 'png' | 'webp'): Promise<Buffer> {
  const tiff = loopingExif();
  const image = await quarters(64, 64).toFormat(format).toBuffer();
  if (format === 'png') return insertChunk(image, 'eXIf', tiff);
  if (format === 'jpeg') {
    const marker = Buffer.from('\xff\xe1\0\0Exif\0\0', 'latin1');
    marker.writeUInt16BE(8 + tiff.length, 2);
    return Buffer.concat([image.subarray(0, 2), marker, tiff, image.subarray(2)]);
  }
  const extended = await withMetadata(quarters(64, 64), 1).webp().toBuffer();
  const header = Buffer.from('RIFF\0\0\0\0WEBP', 'latin1');
  const exif = Buffer.from('EXIF\0\0\0\0', 'latin1');
  exif.writeUInt32LE(tiff.length, 4);
  const vp8x = extended.subarray(12, 30);
  const bomb = Buffer.concat([header, vp8x, image.subarray(12), exif, tiff]);
  bomb.writeUInt32LE(bomb.length - 8, 4);
  return bomb;
}

/** Adds a tag to the profile: a processing chain (`mpet` of ICC.1) whose steps are all one colour table (`clut`). */
function profileWithChain(steps: number, profile: Buffer): Buffer {
  const table = Buffer.alloc(28 + 8 * 3 * 4);
  table.write('clut\0\0\0\0\0\x03\0\x03\x02\x02\x02', 'latin1');
  const chain = Buffer.alloc(16 + steps * 8);
  chain.write('mpet\0\0\0\0\0\x03\0\x03', 'latin1');
  chain.writeUInt32BE(steps, 12);
  for (let at = 16; at < chain.length; at += 8) {
    chain.writeUInt32BE(chain.length, at);
    chain.writeUInt32BE(table.length, at + 4);
  }
  const tags = profile.readUInt32BE(128);
  const directory = Buffer.from(profile.subarray(132, 132 + tags * 12));
  for (let at = 4; at < directory.length; at += 12) {
    directory.writeUInt32BE(directory.readUInt32BE(at) + 12, at);
  }
  const tag = Buffer.alloc(12);
  tag.write('D2B0', 'latin1');
  tag.writeUInt32BE(profile.length + 12, 4);
  tag.writeUInt32BE(chain.length + table.length, 8);
  const head = Buffer.from(profile.subarray(0, 132));
  head.writeUInt32BE(tags + 1, 128);
  const result = Buffer.concat([
    head,
    directory,
    tag,
    profile.subarray(132 + tags * 12),
    chain,
    table,
  ]);
  result.writeUInt32BE(result.length, 0);
  return result;
}

function damage(whole: Buffer, random: RandomInteger): Buffer {
  const bytes = Buffer.from(whole);
  const damagedBytes = 1 + random(6);
  for (let i = 0; i < damagedBytes; i++) bytes[random(bytes.length)] = random(256);
  if (random(4) === 0) return bytes.subarray(0, random(bytes.length));
  if (random(4) === 0) {
    const from = random(bytes.length);
    return Buffer.concat([bytes.subarray(0, from), bytes.subarray(random(bytes.length))]);
  }
  return bytes;
}
