import { crc32 } from 'node:zlib';

/** Returns a PNG chunk with its length and checksum. */
export function pngChunk(type: string, data: Buffer): Buffer {
  const chunk = Buffer.alloc(12 + data.length);
  chunk.writeUInt32BE(data.length, 0);
  chunk.write(type, 4, 'latin1');
  data.copy(chunk, 8);
  chunk.writeUInt32BE(crc32(chunk.subarray(4, 8 + data.length)), 8 + data.length);
  return chunk;
}

/** Returns the types of a WebP file's chunks. */
export function webpChunks(webp: Buffer): string[] {
  const types: string[] = [];
  for (let at = 12; at < webp.length; ) {
    types.push(webp.toString('latin1', at, at + 4));
    const size = webp.readUInt32LE(at + 4);
    at += 8 + size + (size % 2);
  }
  return types;
}

/** Returns a TIFF directory that refers to itself as the EXIF directory in each of its 5,400 entries. */
export function loopingExif(): Buffer {
  const entries = 5_400;
  const tiff = Buffer.alloc(10 + entries * 12 + 4);
  tiff.write('II*\0\x08\0\0\0', 'latin1');
  tiff.writeUInt16LE(entries, 8);
  for (let at = 10; at < 10 + entries * 12; at += 12) {
    tiff.set([0x69, 0x87, 4, 0, 1, 0, 0, 0, 8, 0, 0, 0], at);
  }
  return tiff;
}
