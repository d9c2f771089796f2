import { deflateSync, gzipSync } from 'node:zlib';
import sharp from 'sharp';
import { loopingExif, pngChunk } from '../../../support/image-chunks.ts';
import type { Scale } from '../trial.ts';

/** A file that exhausts or deceives a decoder. */
export interface Bomb {
  name: string;
  bytes: Buffer;
  /** The allowed statuses of its upload. */
  statuses: readonly number[];
}

/** Text hidden in uploads. Avatars must not contain it. */
export const PAYLOAD = '<script>alert("from inside the image")</script>';

const MEBIBYTE = 1024 * 1024;
const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
const SVG = `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="9" height="9">${PAYLOAD}<image width="9" height="9" xlink:href="file:///etc/passwd"/></svg>`;

/** Returns all bombs. The quick scale makes them smaller, because creating them takes longer than rejecting them. */
export async function bombs(scale: Scale): Promise<Bomb[]> {
  const size = scale === 'full' ? 1 : 0.1;
  const image = sharp({ create: { width: 32, height: 32, channels: 3, background: 'teal' } });
  const jpeg = await image.jpeg({ quality: 90 }).toBuffer();
  const progressive = await image
    .jpeg({ progressive: true, chromaSubsampling: '4:4:4' })
    .toBuffer();
  const png = await image.png().toBuffer();
  const webp = await image.webp().toBuffer();
  const gif = await image.gif().toBuffer();
  const concat = (...parts: (Buffer | string)[]) =>
    Buffer.concat(parts.map((part) => Buffer.from(part as string)));
  // The header chunk IHDR ends at byte 33.
  const insert = (...chunks: Buffer[]) =>
    Buffer.concat([png.subarray(0, 33), ...chunks, png.subarray(33)]);
  const compressed = deflateSync(Buffer.alloc(100 * MEBIBYTE * size));
  const segment = (code: number, content: Buffer) => {
    const head = Buffer.from([0xff, code, 0, 0]);
    head.writeUInt16BE(content.length + 2, 2);
    return Buffer.concat([head, content]);
  };
  const withSegments = (...segments: Buffer[]) =>
    Buffer.concat([jpeg.subarray(0, 2), ...segments, jpeg.subarray(2)]);
  const scans = progressive.indexOf(Buffer.from([0xff, 0xda]));
  const emptyScan = Buffer.from([0xff, 0xda, 0, 8, 1, 1, 0, 1, 1, 0x10, 0]);

  const rejected: [string, Buffer][] = [
    ['a PNG of 16,000 x 16,000', blankPng(16_000, 16_000)],
    ['a PNG of 2,147,483,647 x 1', blankPng(2 ** 31 - 1, 1, Buffer.alloc(9))],
    ['a PNG of 65,000 x 65,000 without pixels', blankPng(65_000, 65_000, Buffer.alloc(0))],
    ['a JPEG of 65,500 x 65,500', resizeJpeg(jpeg, 65_500)],
    ['a WebP of 16,384 x 16,384', animatedWebp(webp, 1, 16_383)],
    ['a GIF of 65,535 x 65,535', animatedGif(1, 65_535)],
    [
      'a progressive JPEG with a very large number of scans',
      Buffer.concat([progressive.subarray(0, scans), ...Array(40_000 * size).fill(emptyScan)]),
    ],
  ];
  const acceptedOrRejected: [string, Buffer][] = [
    ['a truncated GIF of 8,000 x 8,000', animatedGif(1, 8_000)],
    ['a PNG of 8,000 x 8,000', blankPng(8_000, 8_000)],
    [
      'a PNG of one pixel that inflates to 100 MiB',
      blankPng(1, 1, Buffer.alloc(100 * MEBIBYTE * size)),
    ],
    [
      'a PNG with a compressed text of 100 MiB',
      insert(pngChunk('zTXt', concat('a\0\0', compressed))),
    ],
    [
      'a PNG with an international text of 100 MiB',
      insert(pngChunk('iTXt', concat('a\0\x01\0\0\0', compressed))),
    ],
    [
      'a PNG with a colour profile of 100 MiB',
      insert(pngChunk('iCCP', concat('a\0\0', compressed))),
    ],
    [
      'a PNG of 100,000 chunks',
      insert(...Array(100_000 * size).fill(pngChunk('tEXt', concat('a\0b')))),
    ],
    ['a PNG with a self-referencing EXIF directory', insert(pngChunk('eXIf', loopingExif()))],
    [
      'a JPEG with a self-referencing EXIF directory',
      withSegments(segment(0xe1, concat('Exif\0\0', loopingExif()))),
    ],
    [
      'a JPEG of 70 colour profiles',
      withSegments(
        ...Array(70).fill(
          segment(0xe2, concat('ICC_PROFILE\0\x01\x46', Buffer.alloc(60_000 * size))),
        ),
      ),
    ],
    [
      'a JPEG of comments',
      withSegments(...Array(80).fill(segment(0xfe, Buffer.alloc(60_000 * size, PAYLOAD)))),
    ],
    ['a GIF of 300,000 frames', animatedGif(300_000 * size, 1)],
    ['a WebP of 40,000 frames', animatedWebp(webp, 40_000 * size, 31)],
    ['a JPEG that is also a ZIP', concat(jpeg, 'PK\x03\x04', PAYLOAD)],
    [
      'a PNG that is also an HTML page',
      concat(insert(pngChunk('tEXt', concat('Comment\0', PAYLOAD))), PAYLOAD),
    ],
    [
      'a GIF that is also a script',
      concat(gif.subarray(0, 6), '/*', gif.subarray(8, -1), `*/=1;${PAYLOAD}`),
    ],
    ['a WebP that is also an HTML page', concat(webp, PAYLOAD)],
    [
      'a JPEG that is also a program',
      withSegments(segment(0xfe, concat(`<?php echo 1; ?>${PAYLOAD}`))),
    ],
  ];
  if (scale === 'full') acceptedOrRejected.push(['the largest allowed image', deepPng(8_000)]);
  const unsupported: [string, Buffer | string][] = [
    ['an SVG', SVG],
    ['an SVG with a byte order mark', `\ufeff${SVG}`],
    ['an SVG after a declaration and a comment', `<?xml version="1.0"?><!-- \x89PNG -->${SVG}`],
    ['a gzipped SVG', gzipSync(SVG)],
    ['a PDF with a JPEG in it', concat('%PDF-1.7\n', jpeg)],
    ['an ImageMagick script', 'push graphic-context\nimage over 0,0 0,0 "/etc/passwd"'],
    ['a TIFF', await image.tiff().toBuffer()],
    ['an AVIF', await image.avif().toBuffer()],
    ['a bitmap', concat('BM', Buffer.alloc(100, 1))],
    ['an icon', Buffer.concat([Buffer.from([0, 0, 1, 0, 1, 0]), png])],
    ['a WAVE file', 'RIFF\x24\0\0\0WAVEfmt '],
  ];
  const disguised = [SIGNATURE, 'GIF89a', '\xff\xd8\xff\xe0', 'RIFF\xff\xff\0\0WEBP'].map(
    (signature, i): [string, Buffer] => [
      `an SVG with the signature of another type (${i + 1})`,
      Buffer.concat([Buffer.from(signature as string, 'latin1'), Buffer.from(SVG)]),
    ],
  );
  return [
    ...[...rejected, ...disguised].map(([name, bytes]) => ({ name, bytes, statuses: [422] })),
    ...acceptedOrRejected.map(([name, bytes]) => ({ name, bytes, statuses: [200, 422] })),
    ...unsupported.map(([name, bytes]) => ({
      name,
      bytes: Buffer.from(bytes as string),
      statuses: [415],
    })),
  ];
}

/** @param format bit depth, colour type, compression, filter and interlace method, as in IHDR */
function createPng(
  width: number,
  height: number,
  format: readonly number[],
  pixels: Buffer,
): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set(format, 8);
  return Buffer.concat([
    SIGNATURE,
    pngChunk('IHDR', header),
    pngChunk('IDAT', deflateSync(pixels)),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}

/** Returns a PNG with one bit per pixel. The default pixels are black. */
function blankPng(width: number, height: number, pixels?: Buffer): Buffer {
  const black = () => Buffer.alloc(height * (1 + Math.ceil(width / 8)));
  return createPng(width, height, [1, 0, 0, 0, 0], pixels ?? black());
}

/** Returns an interlaced PNG with four channels of 16 bits. */
function deepPng(edge: number): Buffer {
  // The seven passes of Adam7 interlacing (PNG specification, 8.1).
  const passes = [
    { left: 0, stepX: 8, top: 0, stepY: 8 },
    { left: 4, stepX: 8, top: 0, stepY: 8 },
    { left: 0, stepX: 4, top: 4, stepY: 8 },
    { left: 2, stepX: 4, top: 0, stepY: 4 },
    { left: 0, stepX: 2, top: 2, stepY: 4 },
    { left: 1, stepX: 2, top: 0, stepY: 2 },
    { left: 0, stepX: 1, top: 1, stepY: 2 },
  ];
  const bytes = passes.map(({ left, stepX, top, stepY }) => {
    const columns = Math.ceil((edge - left) / stepX);
    const rows = Math.ceil((edge - top) / stepY);
    return rows * (1 + 8 * columns);
  });
  return createPng(
    edge,
    edge,
    [16, 6, 0, 0, 1],
    Buffer.alloc(bytes.reduce((sum, each) => sum + each)),
  );
}

function resizeJpeg(jpeg: Buffer, edge: number): Buffer {
  const bytes = Buffer.from(jpeg);
  const frame = bytes.indexOf(Buffer.from([0xff, 0xc0]));
  bytes.writeUInt16BE(edge, frame + 5);
  bytes.writeUInt16BE(edge, frame + 7);
  return bytes;
}

/** Returns a GIF of one-pixel frames, or of a single full-size frame. */
function animatedGif(frames: number, edge: number): Buffer {
  const head = Buffer.from('GIF89a\0\0\0\0\x80\0\0\0\0\0\xff\xff\xff', 'latin1');
  head.writeUInt16LE(edge, 6);
  head.writeUInt16LE(edge, 8);
  const frame = Buffer.from([0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0]);
  if (frames === 1) {
    frame.writeUInt16LE(edge, 5);
    frame.writeUInt16LE(edge, 7);
  }
  return Buffer.concat([head, ...Array(frames).fill(frame), Buffer.from([0x3b])]);
}

/** @param edge edge length of the canvas minus one, as the format stores it */
function animatedWebp(webp: Buffer, frames: number, edge: number): Buffer {
  const chunk = (type: string, data: Buffer) => {
    const head = Buffer.from(`${type}\0\0\0\0`, 'latin1');
    head.writeUInt32LE(data.length, 4);
    return Buffer.concat([head, data, Buffer.alloc(data.length % 2)]);
  };
  const canvas = Buffer.from([2, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  canvas.writeUIntLE(edge, 4, 3);
  canvas.writeUIntLE(edge, 7, 3);
  const frameHeader = Buffer.alloc(16);
  frameHeader.writeUIntLE(31, 6, 3);
  frameHeader.writeUIntLE(31, 9, 3);
  const frame = chunk('ANMF', Buffer.concat([frameHeader, webp.subarray(12)]));
  const content = Buffer.concat([
    Buffer.from('WEBP'),
    chunk('VP8X', canvas),
    chunk('ANIM', Buffer.alloc(6)),
    ...Array(frames).fill(frame),
  ]);
  return chunk('RIFF', content);
}
