import type { FastifyReply, FastifyRequest } from 'fastify';
import { isInMatch, isInNoneMatch } from './entity-tags.ts';
import { preconditionFailed, rangeNotSatisfiable } from './problems.ts';

/** The content of a response, and its validators. */
export interface Representation {
  bytes: Buffer;
  /** The media type. */
  type: string;
  /** A strong entity tag with its quotes. */
  etag: string;
  modifiedAt: Date;
  /** Further headers of successful responses and 304. */
  headers: Record<string, string>;
}

/**
 * Sends bytes, a range of them, or 304. Conditional requests and ranges work as with the files of @fastify/static.
 * @throws HttpProblem 412 for a failed precondition, 416 for a range outside of the bytes
 */
export function sendBytes(
  request: FastifyRequest,
  reply: FastifyReply,
  representation: Representation,
): FastifyReply {
  const { bytes, type, etag, modifiedAt, headers } = representation;
  assertPreconditions(request, representation);
  const isUnchanged = isNotModified(request, representation);
  const range = isUnchanged ? undefined : readRange(request, representation);
  reply
    .headers(headers)
    .header('accept-ranges', 'bytes')
    .header('etag', etag)
    .header('last-modified', modifiedAt.toUTCString());
  if (isUnchanged) return reply.code(304).send();
  reply.type(type);
  if (range === undefined) return reply.send(bytes);
  return reply
    .code(206)
    .header('content-range', `bytes ${range.start}-${range.end}/${bytes.length}`)
    .send(bytes.subarray(range.start, range.end + 1));
}

/** RFC 9110, sections 13.1.1 and 13.1.4. */
function assertPreconditions(request: FastifyRequest, content: Representation): void {
  const { headers } = request;
  const since = Date.parse(headers['if-unmodified-since'] ?? '');
  const isFailed =
    headers['if-match'] === undefined
      ? lastModifiedMs(content) > since
      : !isInMatch(request, content.etag);
  if (isFailed) throw preconditionFailed();
}

/** RFC 9110, sections 13.1.2 and 13.1.3. */
function isNotModified(request: FastifyRequest, content: Representation): boolean {
  const { headers } = request;
  // A forced reload in a browser must get the content.
  if (headers['cache-control']?.includes('no-cache')) return false;
  if (headers['if-none-match'] === undefined) {
    return lastModifiedMs(content) <= Date.parse(headers['if-modified-since'] ?? '');
  }
  return isInNoneMatch(request, content.etag);
}

/** Returns undefined if all bytes must be sent: without a range, with several, or if If-Range does not match. */
function readRange(
  { headers }: FastifyRequest,
  content: Representation,
): { start: number; end: number } | undefined {
  const ranges = /^ *bytes=(.*)$/.exec(headers.range ?? '')?.[1]?.split(',');
  const ifRange = headers['if-range']?.toString();
  const isSame =
    ifRange === undefined ||
    ifRange === content.etag ||
    // `Date.parse` also accepts a date in the quotes of an entity tag.
    (!ifRange.includes('"') && Date.parse(ifRange) >= lastModifiedMs(content));
  if (ranges === undefined || !isSame) return undefined;
  const { length } = content.bytes;
  const satisfiable = ranges
    .map((range) => parseRange(range.trim(), length))
    .filter((range) => range !== undefined);
  if (satisfiable.length === 0) {
    throw rangeNotSatisfiable({ 'content-range': `bytes */${length}` });
  }
  return satisfiable.length === 1 ? satisfiable[0] : undefined;
}

/** Parses `0-9`, `10-` or `-10`, the last ten bytes. */
function parseRange(range: string, length: number): { start: number; end: number } | undefined {
  const [, first, last] = /^(\d*)-(\d*)$/.exec(range) ?? [];
  if (!first && !last) return undefined;
  const start = first ? Number(first) : Math.max(0, length - Number(last));
  const end = first && last ? Math.min(Number(last), length - 1) : length - 1;
  return start <= end ? { start, end } : undefined;
}

/** Returns the time in milliseconds, rounded down to a second, because HTTP dates have no milliseconds. */
function lastModifiedMs({ modifiedAt }: Representation): number {
  return Math.floor(modifiedAt.getTime() / 1000) * 1000;
}
