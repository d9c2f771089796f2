import sharp, { type OutputInfo } from 'sharp';
import { DomainError } from '../errors.ts';
import { takeRenderingTurn } from '../system/cluster-turns.ts';
import { limitConcurrency } from '../system/concurrency.ts';
import { type StrippedImage, stripMetadata } from './metadata.ts';

/** Width and height of every avatar, in pixels. */
const AVATAR_EDGE_PIXELS = 512;

const MAX_PIXELS = 64_000_000;
const RENDERING_TIMEOUT_SECONDS = 10;

// These settings apply to the whole process.
// Every upload is different, so a cache would only use memory.
sharp.cache(false);
sharp.concurrency(1);
// Disables all other loaders of libvips, such as SVG, TIFF, AVIF and any file by its path.
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({
  operation: [
    'VipsForeignLoadJpegBuffer',
    'VipsForeignLoadPngBuffer',
    'VipsForeignLoadWebpBuffer',
    'VipsForeignLoadNsgifBuffer',
  ],
});

// The most expensive image within the limits (64 megapixels, interlaced, 16 bits per channel) takes 500 MB of memory
// and more than a second of one core. One at a time, for all workers of a machine, leaves resources for other requests,
// and still renders about ten ordinary images per second.
const MAX_CONCURRENT_RENDERINGS = 1;
const MAX_WAITING_RENDERINGS = 16;
const limitRendering = limitConcurrency(MAX_CONCURRENT_RENDERINGS, MAX_WAITING_RENDERINGS);

/** Returns the number of uploads waiting to be rendered. */
export const countWaitingAvatars = limitRendering.countWaiting;

/**
 * Renders an uploaded JPEG, PNG, WebP or GIF (first frame) as an avatar. Detects the type from the file content and
 * ignores the declared type.
 * @returns a WebP file without metadata: upright, cropped to the largest centred square, scaled to
 *   `AVATAR_EDGE_PIXELS`, in sRGB, with its transparency
 * @throws DomainError `avatar_type_unsupported`; `avatar_undecodable` if the file is damaged, truncated, over 64
 *   megapixels, or not decoded within 10 seconds; `unavailable` if too many avatars wait to be rendered
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
  return limitRendering(async () => {
    using _ = await takeRenderingTurn();
    return await encode(await decodeSquare(image), image.orientation);
  });
}

interface Pixels {
  data: Buffer;
  info: OutputInfo;
}

/** Decodes and crops an image. Returns raw pixels, so that no other content of the file can reach the encoder. */
async function decodeSquare({ bytes }: StrippedImage): Promise<Pixels> {
  try {
    // Without a limit, because it decodes no pixels, and an error of sharp would lack the size.
    const { width, height, icc, space } = await sharp(bytes, {
      limitInputPixels: false,
    }).metadata();
    if (width * height > MAX_PIXELS) throw tooManyPixels(width, height);
    const ignoreIcc = icc === undefined || hasMultiProcessElements(icc);
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
 * Whether an ICC profile has multi-process elements. These are programs of any length: a PNG of 1 kB can contain one
 * that takes 18 s to prepare. Cameras do not write them.
 */
function hasMultiProcessElements(profile: Buffer): boolean {
  return profile.includes('mpet', 0, 'latin1');
}

/** The correction for each EXIF orientation: first mirror left to right, then rotate clockwise. */
const CORRECTIONS: Record<number, { isMirrored: boolean; degrees: number }> = {
  1: { isMirrored: false, degrees: 0 },
  2: { isMirrored: true, degrees: 0 },
  3: { isMirrored: false, degrees: 180 },
  4: { isMirrored: true, degrees: 180 },
  5: { isMirrored: true, degrees: 270 },
  6: { isMirrored: false, degrees: 90 },
  7: { isMirrored: true, degrees: 90 },
  8: { isMirrored: false, degrees: 270 },
};

/** Rotates a square upright and encodes it as WebP. Rotating the whole image first would be slower. */
async function encode({ data, info }: Pixels, orientation: number): Promise<Buffer> {
  const { width, height, channels } = info;
  const image = sharp(data, { raw: { width, height, channels } });
  const correction = CORRECTIONS[orientation];
  if (correction !== undefined) image.flop(correction.isMirrored).rotate(correction.degrees);
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
