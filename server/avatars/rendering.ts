import sharp, { type OutputInfo } from 'sharp';
import { DomainError } from '../errors.ts';
import { limitConcurrency } from '../system/concurrency.ts';
import { type BareImage, bareImage } from './containers.ts';

/** Width and height of every avatar, in pixels. */
export const avatarEdge = 512;

const maxPixels = 64_000_000;
const timeoutSeconds = 10;

// For the whole process, and for good. No two uploads are alike, so a cache of decoded images would only hold
// memory. Of all that libvips can open (SVG, TIFF, AVIF, its own formats, any file by its path) four loaders stay.
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

// The costliest images within the limits (64 megapixels, interlaced, 16 bits a channel) need half a gigabyte
// and over a second of one core. One at a time leaves room for everything else, and still makes ten a second.
const oneAtATime = limitConcurrency(1, 16);

/** How many images wait to be decoded. */
export const waitingAvatars = oneAtATime.waiting;

/**
 * Makes an avatar of an uploaded JPEG, PNG, WebP or GIF (its first frame), whatever type was declared:
 * upright, cut to the largest centred square, `avatarEdge` pixels wide and high, sRGB, transparency kept,
 * as WebP without any metadata.
 *
 * @throws DomainError avatar_type_unsupported, then avatar_undecodable (damaged, truncated, over 64 megapixels,
 *   or not decoded within 10 seconds)
 */
export async function renderAvatar(bytes: Uint8Array): Promise<Buffer> {
  const image = bareImage(bytes);
  if (image === undefined) {
    throw new DomainError(
      'avatar_type_unsupported',
      'The avatar must be a JPEG, PNG, WebP or GIF file. The type is detected from the file content.',
      [{ pointer: '/avatar', message: 'must be a JPEG, PNG, WebP or GIF file' }],
    );
  }
  return oneAtATime(async () => encode(await decodeSquare(image), image.orientation));
}

interface Pixels {
  data: Buffer;
  info: OutputInfo;
}

/** Raw pixels between decoder and encoder: nothing that a file carries beside them can pass. */
async function decodeSquare({ bytes }: BareImage): Promise<Pixels> {
  try {
    const { width, height, icc, space } = await sharp(bytes, {
      limitInputPixels: false,
    }).metadata();
    if (width * height > maxPixels) throw tooManyPixels(width, height);
    const ignoreIcc = icc === undefined || isProgram(icc);
    // What cameras get wrong is decoded all the same; what is missing is not made up.
    const image = sharp(bytes, { limitInputPixels: maxPixels, failOn: 'error', ignoreIcc });
    // Profiled 16-bit images would otherwise end as Display P3 that is taken for sRGB.
    if (!ignoreIcc && space === 'rgb16') image.withIccProfile('srgb', { attach: false });
    return await image
      .resize(avatarEdge, avatarEdge, { fit: 'cover', position: 'centre' })
      .timeout({ seconds: timeoutSeconds })
      .raw()
      .toBuffer({ resolveWithObject: true });
  } catch (error) {
    throw error instanceof DomainError ? error : undecodable(error);
  }
}

/**
 * Profiles with multi-process elements are programs of any length: 1 kB of PNG can hold one that takes 18 s to
 * prepare. No camera writes them.
 */
function isProgram(profile: Buffer): boolean {
  return profile.includes('mpet', 0, 'latin1');
}

/** What each EXIF orientation asks for: mirrored left to right, then turned clockwise by so many degrees. */
const turns: Record<number, { mirrored: boolean; degrees: number }> = {
  1: { mirrored: false, degrees: 0 },
  2: { mirrored: true, degrees: 0 },
  3: { mirrored: false, degrees: 180 },
  4: { mirrored: true, degrees: 180 },
  5: { mirrored: true, degrees: 270 },
  6: { mirrored: false, degrees: 90 },
  7: { mirrored: true, degrees: 90 },
  8: { mirrored: false, degrees: 270 },
};

/** Turns the square, which is cheaper than turning the image and comes to the same. */
async function encode({ data, info }: Pixels, orientation: number): Promise<Buffer> {
  const { width, height, channels } = info;
  const image = sharp(data, { raw: { width, height, channels } });
  const turn = turns[orientation];
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
  const refusal = new DomainError(
    'avatar_undecodable',
    'The avatar could not be decoded. Send an undamaged JPEG, PNG, WebP or GIF file of at most 64 megapixels.',
    [{ pointer: '/avatar', message: 'must be an undamaged file' }],
  );
  refusal.cause = cause;
  return refusal;
}
