import sharp, { type Metadata, type OutputInfo } from 'sharp';
import { DomainError } from '../errors.ts';
import { type RenderingSize, takeRenderingTurn } from '../system/cluster-turns.ts';
import { type Limiter, limitConcurrency } from '../system/concurrency.ts';
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

/**
 * An image with a higher cost is large. Rendering an ordinary one takes up to 0.2 s of a core and 120 MB. Photos of 12
 * megapixels are ordinary, also as a progressive JPEG with ten scans.
 */
const MAX_ORDINARY_COST = 200_000_000;

const MAX_WAITING_RENDERINGS = 8;

// The most expensive image within the limits (64 megapixels, interlaced, 16 bits per channel) takes 600 MB of memory
// and more than a second of one core. One image of each size at a time, for all workers of a machine, leaves resources
// for other requests.
const limitRendering = () => limitConcurrency({ limit: 1, maxWaiting: MAX_WAITING_RENDERINGS });
const limiters: Record<RenderingSize, Limiter> = {
  ordinary: limitRendering(),
  large: limitRendering(),
};

const limitMetadata = limitRendering();

/** Returns the number of uploads waiting to be rendered. */
export function countWaitingAvatars(): number {
  return limiters.ordinary.countWaiting() + limiters.large.countWaiting();
}

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
  const metadata = await readMetadata(image);
  const cost = costOf(metadata, image);
  const size = cost > MAX_ORDINARY_COST ? 'large' : 'ordinary';
  const render = async () => {
    using _ = await takeRenderingTurn(size);
    return await encode(await decodeSquare(image, metadata), image.orientation);
  };
  return limiters[size](render);
}

/** Reads the header of an image. @throws DomainError `avatar_undecodable` if it is damaged, or has too many pixels */
async function readMetadata({ bytes }: StrippedImage): Promise<Metadata> {
  // Without a limit, because it decodes no pixels, and an error of sharp would lack the size.
  const read = () => sharp(bytes, { limitInputPixels: false }).metadata().catch(rejectDamaged);
  const metadata = await limitMetadata(read);
  const { width, height } = metadata;
  if (width * height > MAX_PIXELS) throw tooManyPixels(width, height);
  return metadata;
}

/** Scaling and encoding even the smallest image. */
const ENCODING_COST = 25_000_000;

/** Returns the time of rendering an image in ns, very roughly. */
function costOf(metadata: Metadata, { bytes, scans }: StrippedImage): number {
  const { format, width, height, depth, isProgressive } = metadata;
  const isDeep = depth === 'ushort';
  const pixelCost = format === 'jpeg' ? scans : 8 * (isDeep ? 4 : 1) * (isProgressive ? 2 : 1);
  // Decompression takes time for each byte, too.
  return ENCODING_COST + width * height * pixelCost + bytes.length * 10;
}

interface Pixels {
  data: Buffer;
  info: OutputInfo;
}

/** Decodes and crops an image. Returns raw pixels, so that no other content of the file can reach the encoder. */
async function decodeSquare({ bytes }: StrippedImage, { icc, space }: Metadata): Promise<Pixels> {
  const ignoreIcc = icc === undefined || hasMultiProcessElements(icc);
  // 'error' accepts the minor faults of cameras but rejects truncated files.
  const image = sharp(bytes, { limitInputPixels: MAX_PIXELS, failOn: 'error', ignoreIcc });
  // Without this, sharp converts profiled 16-bit images to Display P3, and the result would be read as sRGB.
  if (!ignoreIcc && space === 'rgb16') image.withIccProfile('srgb', { attach: false });
  return image
    .resize(AVATAR_EDGE_PIXELS, AVATAR_EDGE_PIXELS, { fit: 'cover', position: 'centre' })
    .timeout({ seconds: RENDERING_TIMEOUT_SECONDS })
    .raw()
    .toBuffer({ resolveWithObject: true })
    .catch(rejectDamaged);
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

/** @param cause an error of sharp */
function rejectDamaged(cause: unknown): never {
  const error = new DomainError(
    'avatar_undecodable',
    'The avatar could not be decoded. Send an undamaged JPEG, PNG, WebP or GIF file of at most 64 megapixels.',
    [{ pointer: '/avatar', message: 'must be an undamaged file' }],
  );
  error.cause = cause;
  throw error;
}
