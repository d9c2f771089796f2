import sharp, { type OutputInfo } from 'sharp';
import { DomainError } from '../errors.ts';
import { limitConcurrency } from '../system/concurrency.ts';
import { type StrippedImage, stripMetadata } from './containers.ts';

/** Width and height of every avatar, in pixels. */
export const AVATAR_EDGE_PIXELS = 512;

const MAX_PIXELS = 64_000_000;
const RENDERING_TIMEOUT_SECONDS = 10;

// These settings hold for the whole process. Uploads are all different, so a cache of decoded images would only use
// memory. Of libvips' loaders (SVG, TIFF, AVIF, its own formats, any file by its path) only four stay enabled.
sharp.cache(false);
sharp.concurrency(1);
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({
  operation: [
    'VipsForeignLoadJpegBuffer',
    'VipsForeignLoadPngBuffer',
    'VipsForeignLoadWebpBuffer',
    'VipsForeignLoadNsgifBuffer',
  ],
});

// The most expensive images within the limits (64 megapixels, interlaced, 16 bits a channel) take half a gigabyte and
// more than a second of one core. One at a time leaves room for other requests and still renders ten per second.
const limitRendering = limitConcurrency(1, 16);

/** The number of uploads waiting to be rendered. */
export const countWaitingAvatars = limitRendering.countWaiting;

/**
 * Renders an uploaded JPEG, PNG, WebP or GIF (its first frame) as an avatar: upright, cropped to the largest centred
 * square, `AVATAR_EDGE_PIXELS` pixels wide and high, sRGB, transparency kept, as WebP without any metadata. Detects the type
 * from the file's content and ignores the declared type.
 * @throws DomainError `avatar_type_unsupported`; `avatar_undecodable` if the file is damaged, truncated, over 64
 *   megapixels, or not decoded within 10 seconds
 */
export async function renderAvatar(file: Uint8Array): Promise<Buffer> {
  const image = stripMetadata(file);
  if (image === undefined) {
    throw new DomainError(
      'avatar_type_unsupported',
      'The avatar must be a JPEG, PNG, WebP or GIF file. The type is detected from the file content.',
      [{ pointer: '/avatar', message: 'must be a JPEG, PNG, WebP or GIF file' }],
    );
  }
  return limitRendering(async () => encode(await decodeSquare(image), image.orientation));
}

interface Pixels {
  data: Buffer;
  info: OutputInfo;
}

/** Returns raw pixels, so that no other content of the file can reach the encoder. */
async function decodeSquare({ bytes }: StrippedImage): Promise<Pixels> {
  try {
    const { width, height, icc, space } = await sharp(bytes, {
      limitInputPixels: false,
    }).metadata();
    if (width * height > MAX_PIXELS) throw tooManyPixels(width, height);
    const ignoreIcc = icc === undefined || isProgram(icc);
    // 'error' accepts the minor faults of cameras but rejects truncated files.
    const image = sharp(bytes, { limitInputPixels: MAX_PIXELS, failOn: 'error', ignoreIcc });
    // Without this, sharp converts profiled 16-bit images to Display P3, and the result would be read as sRGB.
    if (!ignoreIcc && space === 'rgb16') image.withIccProfile('srgb', { attach: false });
    return await image
      .resize(AVATAR_EDGE_PIXELS, AVATAR_EDGE_PIXELS, { fit: 'cover', position: 'centre' })
      .timeout({ seconds: RENDERING_TIMEOUT_SECONDS })
      .raw()
      .toBuffer({ resolveWithObject: true });
  } catch (error) {
    throw error instanceof DomainError ? error : undecodable(error);
  }
}

/**
 * Whether an ICC profile has multi-process elements, which are programs of any length: 1 kB of PNG can contain one that
 * takes 18 s to prepare. Cameras do not write them.
 */
function isProgram(profile: Buffer): boolean {
  return profile.includes('mpet', 0, 'latin1');
}

/** The correction for each EXIF orientation: mirrored left to right, then rotated clockwise. */
const TURNS: Record<number, { mirrored: boolean; degrees: number }> = {
  1: { mirrored: false, degrees: 0 },
  2: { mirrored: true, degrees: 0 },
  3: { mirrored: false, degrees: 180 },
  4: { mirrored: true, degrees: 180 },
  5: { mirrored: true, degrees: 270 },
  6: { mirrored: false, degrees: 90 },
  7: { mirrored: true, degrees: 90 },
  8: { mirrored: false, degrees: 270 },
};

/** Rotates the square, which is cheaper than rotating the whole image and gives the same result. */
async function encode({ data, info }: Pixels, orientation: number): Promise<Buffer> {
  const { width, height, channels } = info;
  const image = sharp(data, { raw: { width, height, channels } });
  const turn = TURNS[orientation];
  if (turn !== undefined) image.flop(turn.mirrored).rotate(turn.degrees);
  return image.webp().toBuffer();
}

function tooManyPixels(width: number, height: number): DomainError {
  return new DomainError(
    'avatar_undecodable',
    `The avatar has ${width} x ${height} pixels. The limit is 64 megapixels (64,000,000 pixels).`,
    [{ pointer: '/avatar', message: 'must have at most 64,000,000 pixels' }],
  );
}

function undecodable(cause: unknown): DomainError {
  const error = new DomainError(
    'avatar_undecodable',
    'The avatar could not be decoded. Send an undamaged JPEG, PNG, WebP or GIF file of at most 64 megapixels.',
    [{ pointer: '/avatar', message: 'must be an undamaged file' }],
  );
  error.cause = cause;
  return error;
}
