import { isUtf8 } from 'node:buffer';
import type { FastifyMultipartOptions, Multipart } from '@fastify/multipart';
import type { FastifyRequest } from 'fastify';
import { DomainError } from '../errors.ts';
import { overloaded } from '../system/concurrency.ts';
import { drain } from './draining.ts';

export const MAX_AVATAR_BYTES = 5 * 1024 * 1024;

/** Maximum size of boundaries, part headers and preamble together. */
const MAX_FORM_OVERHEAD_BYTES = 64 * 1024;

/** Maximum size of the request body: the avatar and the form around it. */
const MAX_UPLOAD_BYTES = MAX_AVATAR_BYTES + MAX_FORM_OVERHEAD_BYTES;

/** Maximum size of all uploads of this process together, from their first byte until they have been processed. */
export const MAX_PENDING_BYTES = 128 * 1024 * 1024;

interface PendingUpload {
  bytes: number;
  /** Whether its file is being read. Otherwise, it can no longer be rejected. */
  isArriving: boolean;
  reject: (error: DomainError) => void;
}

const pendingUploads = new Set<PendingUpload>();

/**
 * Options of @fastify/multipart. Every part counts as a file, because clients may omit its file name and type. So the
 * parser reports an error for a second part, but not for a form field, which `isText` detects.
 */
export const MULTIPART_OPTIONS = {
  isPartAFile: () => true,
  limits: { fileSize: MAX_AVATAR_BYTES, files: 1, fields: 0, parts: 2, headerPairs: 32 },
  throwFileSizeLimit: false,
} satisfies FastifyMultipartOptions;

/**
 * Reads the file of a `multipart/form-data` request into memory, and processes it. The file must be the only part, and
 * named `avatar`.
 *
 * Drains the rest of a rejected request.
 * @returns the result of `process`
 * @throws DomainError `avatar_too_large`, `avatar_missing` (or there are other parts), `invalid_request`
 *   (malformed or incomplete), or `unavailable` (all uploads use too much memory, and this one uses most)
 */
export async function withAvatarUpload<T>(
  request: FastifyRequest,
  process: (avatar: Buffer) => Promise<T>,
): Promise<T> {
  const { raw } = request;
  const { promise: rejection, reject } = Promise.withResolvers<never>();
  const upload: PendingUpload = { bytes: 0, isArriving: true, reject };
  try {
    // The client has already disconnected. The parser would wait for the rest of the body forever.
    if (raw.destroyed) throw malformedForm();
    if (Number(raw.headers['content-length']) > MAX_UPLOAD_BYTES) throw avatarTooLarge();
    pendingUploads.add(upload);
    const parts = request.parts();
    raw.on('data', (chunk: Buffer) => countBytes(upload, chunk.length));
    const avatar = await Promise.race([readAvatarPart(parts), rejection]);
    upload.isArriving = false;
    // Rendering copies the file.
    upload.bytes += avatar.length;
    return await process(avatar);
  } finally {
    pendingUploads.delete(upload);
    drain(raw);
  }
}

async function readAvatarPart(parts: AsyncIterable<Multipart>): Promise<Buffer> {
  let avatar: Buffer | undefined;
  try {
    for await (const part of parts) {
      if (part.type !== 'file' || part.fieldname !== 'avatar') throw avatarMissing();
      avatar = await part.toBuffer();
      if (part.file.truncated) throw avatarTooLarge();
      if (part.filename === undefined && isText(avatar)) throw avatarMissing();
    }
  } catch (error) {
    throw error instanceof DomainError ? error : explainParserError(error);
  }
  if (avatar === undefined || avatar.length === 0) throw avatarMissing();
  return avatar;
}

/** Whether the bytes are a form field instead of a file. No file of an accepted type is valid UTF-8 without NUL. */
function isText(bytes: Buffer): boolean {
  return isUtf8(bytes) && !bytes.includes(0);
}

/** Rejects the upload if it is too large. Counts all bytes, because the parser does not limit the preamble. */
function countBytes(upload: PendingUpload, bytes: number): void {
  upload.bytes += bytes;
  if (upload.bytes > MAX_UPLOAD_BYTES) upload.reject(avatarTooLarge());
  rejectLargest();
}

/** Rejects the largest of the arriving uploads if all uploads together use too much memory. */
function rejectLargest(): void {
  const total = [...pendingUploads].reduce((sum, { bytes }) => sum + bytes, 0);
  if (total <= MAX_PENDING_BYTES) return;
  const arriving = [...pendingUploads].filter(({ isArriving }) => isArriving);
  const [largest] = arriving.sort((a, b) => b.bytes - a.bytes);
  if (largest === undefined) return;
  pendingUploads.delete(largest);
  largest.reject(overloaded());
}

function avatarTooLarge(): DomainError {
  return new DomainError(
    'avatar_too_large',
    'The avatar is larger than 5,242,880 bytes (5 MiB), or the form around it is larger than 65,536 bytes.',
    [{ pointer: '/avatar', message: 'must have at most 5,242,880 bytes' }],
  );
}

function avatarMissing(): DomainError {
  return new DomainError(
    'avatar_missing',
    'Send exactly one part: a non-empty file named avatar.',
    [{ pointer: '/avatar', message: 'must be a non-empty file and the only part' }],
  );
}

function malformedForm(): DomainError {
  return new DomainError(
    'invalid_request',
    'The body is not a complete multipart/form-data form. It must start and end with the boundary in Content-Type.',
  );
}

function explainParserError(cause: unknown): DomainError {
  const { code } = cause as { code?: unknown };
  const error = WRONG_PART_CODES.has(code) ? avatarMissing() : malformedForm();
  error.cause = cause;
  return error;
}

/** Errors of the parser for additional parts, and for a part named `__proto__`. */
const WRONG_PART_CODES = new Set<unknown>([
  'FST_FILES_LIMIT',
  'FST_FIELDS_LIMIT',
  'FST_PARTS_LIMIT',
  'FST_PROTO_VIOLATION',
]);
