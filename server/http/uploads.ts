import type { IncomingMessage } from 'node:http';
import type { FastifyMultipartOptions, Multipart } from '@fastify/multipart';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { DomainError } from '../errors.ts';
import { overloaded } from '../system/concurrency.ts';
import { drain } from './draining.ts';

const maxFileBytes = 5 * 1024 * 1024;
/** What may stand around the file: boundaries, part headers, a preamble. */
const maxRequestBytes = maxFileBytes + 64 * 1024;
/** What all uploads that are not answered yet may have brought. */
const maxPendingBytes = 128 * 1024 * 1024;
let pendingBytes = 0;

/** For `register(multipart, multipartOptions)`. A second part, file or not, stops the reading. */
export const multipartOptions = {
  limits: { fileSize: maxFileBytes, files: 1, fields: 0, parts: 2, headerPairs: 32 },
  throwFileSizeLimit: false,
} satisfies FastifyMultipartOptions;

/**
 * Reads the one part of a `multipart/form-data` request, a file named `avatar` of at most 5 MiB, into memory.
 * Of a request that it refuses, and of what follows the form, only so much more is read as lets the client read
 * the answer; then the connection is cut.
 *
 * @param reply the answer, until which the upload counts as held in memory
 * @throws DomainError avatar_too_large, avatar_missing (also of more than one part), invalid_request (malformed,
 *   incomplete), or unavailable (too much in memory)
 */
export async function readAvatarUpload(
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Buffer> {
  const { raw } = request;
  try {
    if (Number(raw.headers['content-length']) > maxRequestBytes) throw tooLarge();
    return await Promise.race([readAvatarPart(request.parts()), refuseExcess(raw, reply)]);
  } finally {
    drain(raw);
  }
}

async function readAvatarPart(parts: AsyncIterable<Multipart>): Promise<Buffer> {
  let avatar: Buffer | undefined;
  try {
    for await (const part of parts) {
      if (part.type !== 'file' || part.fieldname !== 'avatar') throw missing();
      avatar = await part.toBuffer();
      if (part.file.truncated) throw tooLarge();
    }
  } catch (error) {
    throw error instanceof DomainError ? error : malformed(error);
  }
  if (avatar === undefined || avatar.length === 0) throw missing();
  return avatar;
}

/** Counts what arrives, whatever the parser makes of it: a preamble has no limit of its own. */
function refuseExcess(raw: IncomingMessage, reply: FastifyReply): Promise<never> {
  return new Promise((_, reject) => {
    let bytes = 0;
    const count = (chunk: Buffer) => {
      bytes += chunk.length;
      pendingBytes += chunk.length;
      if (bytes > maxRequestBytes) reject(tooLarge());
      else if (pendingBytes > maxPendingBytes) reject(overloaded());
    };
    raw.on('data', count);
    reply.raw.once('close', () => {
      raw.off('data', count);
      pendingBytes -= bytes;
    });
  });
}

function tooLarge(): DomainError {
  return new DomainError(
    'avatar_too_large',
    'The picture may have at most 5,242,880 bytes (5 MiB), and the form around it 65,536 bytes more.',
    [{ pointer: '/avatar', message: 'must have at most 5,242,880 bytes' }],
  );
}

function missing(): DomainError {
  return new DomainError(
    'avatar_missing',
    'The form must have exactly one part: a file named avatar, with a file name and at least one byte.',
    [{ pointer: '/avatar', message: 'must be a file, and the only part' }],
  );
}

function malformed(cause: unknown): DomainError {
  // What has no file name is no file, but a field.
  const refusal = notTheFile.has((cause as { code?: unknown }).code)
    ? missing()
    : new DomainError(
        'invalid_request',
        'The body is no complete multipart/form-data form. It must start and end with the boundary that Content-Type names.',
      );
  refusal.cause = cause;
  return refusal;
}

/** Further parts, fields, and files whose name no part may have. */
const notTheFile = new Set<unknown>([
  'FST_FILES_LIMIT',
  'FST_FIELDS_LIMIT',
  'FST_PARTS_LIMIT',
  'FST_PROTO_VIOLATION',
]);
