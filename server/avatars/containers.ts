/**
 * Takes an uploaded image apart far enough to hand the decoder its pixels and their colours, and nothing
 * else. Metadata is dropped before decoding, not only after it: the libraries that read it can be kept busy
 * for seconds by a file of a few kilobytes, out of reach of any timeout (a 65 kB JPEG whose EXIF directory
 * names itself 5,400 times: 9 s; a 630 kB progressive JPEG of 2,646 scans: 28 s).
 */

/** An image without metadata, and how it is to be turned. */
export interface BareImage {
  bytes: Buffer;
  /** EXIF orientation, 1 to 8; 1 where the file names none */
  orientation: number;
}

/** More than any encoder writes. The scans of a progressive JPEG beyond these would only refine it further. */
const maxJpegScans = 64;

/** Judges the type by the bytes alone. @returns undefined for anything but JPEG, PNG, WebP and GIF */
export function bareImage(bytes: Uint8Array): BareImage | undefined {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const magic = file.toString('latin1', 0, 12);
  if (magic.startsWith('\xff\xd8\xff')) return bareJpeg(file);
  if (magic.startsWith('\x89PNG\r\n\x1a\n')) return barePng(file);
  if (/^RIFF.{4}WEBP$/s.test(magic)) return bareWebp(file);
  if (/^GIF8[79]a/.test(magic)) return { bytes: file, orientation: 1 };
  return undefined;
}

const jpegSos = 0xda;
const jpegEoi = 0xd9;
const jpegExif = 0xe1;
/** Baseline and progressive frames, tables, restart interval, JFIF, ICC profile, Adobe's colour transform. */
const jpegKept = new Set([0xc0, 0xc1, 0xc2, 0xc4, 0xdb, 0xdd, 0xe0, 0xe2, 0xee, jpegSos]);

function bareJpeg(file: Buffer): BareImage {
  const bare = excerptOf(file);
  bare.keep(0, 2);
  let orientation: number | undefined;
  let scans = 0;
  for (let at = nextJpegMarker(file, 2); at < file.length; ) {
    const code = file.readUInt8(at + 1);
    if (code === jpegEoi || scans === maxJpegScans) {
      bare.append([0xff, jpegEoi]);
      break;
    }
    if (at + 4 > file.length) break;
    const end = at + 2 + Math.max(2, file.readUInt16BE(at + 2));
    const next = nextJpegMarker(file, end);
    if (jpegKept.has(code)) bare.keep(at, code === jpegSos ? next : end);
    if (code === jpegSos) scans++;
    if (code === jpegExif) orientation ??= exifOrientation(file.subarray(at + 4, end));
    at = next;
  }
  return { bytes: bare.bytes(), orientation: orientation ?? 1 };
}

/** Skips what is no marker of a segment: compressed data with its restart markers, fill bytes, garbage. */
function nextJpegMarker(file: Buffer, from: number): number {
  for (let at = from; at + 1 < file.length; at++) {
    if (file[at] !== 0xff) continue;
    const code = file[at + 1] ?? 0;
    if (code >= 0xc0 && code !== 0xff && (code < 0xd0 || code > 0xd7)) return at;
  }
  return file.length;
}

const pngKept = fourCcs('IHDR', 'PLTE', 'IDAT', 'IEND', 'tRNS', 'iCCP', 'sRGB', 'gAMA', 'cHRM');
const [pngExif, pngEnd] = [fourCc('eXIf'), fourCc('IEND')];

function barePng(file: Buffer): BareImage {
  const bare = excerptOf(file);
  bare.keep(0, 8);
  let orientation: number | undefined;
  for (let at = 8; at + 12 <= file.length; ) {
    const end = at + 12 + file.readUInt32BE(at);
    const type = file.readUInt32BE(at + 4);
    if (pngKept.has(type)) bare.keep(at, end);
    if (type === pngEnd) break;
    if (type === pngExif) orientation ??= exifOrientation(file.subarray(at + 8, end - 4));
    at = end;
  }
  return { bytes: bare.bytes(), orientation: orientation ?? 1 };
}

const webpKept = fourCcs('VP8X', 'VP8 ', 'VP8L', 'ALPH', 'ANIM', 'ANMF', 'ICCP');
const webpExif = fourCc('EXIF');

function bareWebp(file: Buffer): BareImage {
  const bare = excerptOf(file);
  bare.keep(0, 12);
  let orientation: number | undefined;
  for (let at = 12; at + 8 <= file.length; ) {
    const size = file.readUInt32LE(at + 4);
    const end = at + 8 + size + (size % 2);
    const type = file.readUInt32BE(at);
    if (webpKept.has(type)) bare.keep(at, end);
    if (type === webpExif) orientation ??= exifOrientation(file.subarray(at + 8, end));
    at = end;
  }
  const bytes = bare.bytes();
  bytes.writeUInt32LE(bytes.length - 8, 4);
  return { bytes, orientation: orientation ?? 1 };
}

/** @returns undefined where the block names no orientation between 1 and 8 */
function exifOrientation(block: Buffer): number | undefined {
  const tiff = block.toString('latin1', 0, 6) === 'Exif\0\0' ? block.subarray(6) : block;
  if (tiff.length < 10) return undefined;
  const littleEndian = tiff.toString('latin1', 0, 2) === 'II';
  const uint16 = (at: number) => (littleEndian ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at));
  const directory = littleEndian ? tiff.readUInt32LE(4) : tiff.readUInt32BE(4);
  if (directory + 2 > tiff.length) return undefined;
  const entries = directory + 2;
  const end = Math.min(entries + 12 * uint16(directory), tiff.length - 11);
  for (let at = entries; at < end; at += 12) {
    if (uint16(at) !== 0x0112) continue;
    const orientation = uint16(at + 8);
    return orientation >= 1 && orientation <= 8 ? orientation : undefined;
  }
  return undefined;
}

/** Ranges of a file, one behind the other. Ranges beyond its end are cut off there. */
function excerptOf(file: Buffer) {
  const excerpt = Buffer.allocUnsafe(file.length);
  let length = 0;
  return {
    keep(from: number, to: number) {
      length += file.copy(excerpt, length, from, Math.min(to, file.length));
    },
    append(bytes: readonly number[]) {
      excerpt.set(bytes, length);
      length += bytes.length;
    },
    bytes: () => excerpt.subarray(0, length),
  };
}

function fourCc(name: string): number {
  return Buffer.from(name, 'latin1').readUInt32BE();
}

function fourCcs(...names: string[]): ReadonlySet<number> {
  return new Set(names.map(fourCc));
}
