import { packKeys, readVarint, unpackKeys, varintsLength, writeVarint } from './packed-keys.ts';
import type { Term } from './terms.ts';

// The posting lists of consecutive terms as bytes, with prefix compression of the terms. Each list has a header: the
// number of bytes that its term shares with the previous term, the number of its other bytes, these bytes, and the
// number of keys. The packed keys follow.

/** Two lengths of one byte each, and the number of keys as a varint. Without the bytes of the term. */
const MAX_HEADER_BYTES = 5;

/** The keys of a term in a block. */
export interface Postings {
  term: Term;
  /** Number of keys. */
  size: number;
  packed: Uint8Array;
}

/** Yields the postings of a block, in the order of their terms. */
export function* unpackPostings(bytes: Buffer): Generator<Postings> {
  let term = '';
  for (let at = 0; at < bytes.length; ) {
    const header = unpackHeader(bytes, at, term);
    const { size, end } = header;
    term = header.term;
    at = end + varintsLength(bytes, end, size);
    yield { term, size, packed: bytes.subarray(end, at) };
  }
}

/** Returns the keys of a term in a block. */
export function keysOfTerm(bytes: Buffer, wanted: Term): number[] {
  let previous = '';
  for (let at = 0; at < bytes.length; ) {
    const { term, size, end } = unpackHeader(bytes, at, previous);
    if (term === wanted) return unpackKeys(bytes.subarray(end), size);
    at = end + varintsLength(bytes, end, size);
    previous = term;
  }
  return [];
}

/** Returns the header of a list that begins at `at`, and the index after the header. */
function unpackHeader(
  bytes: Buffer,
  at: number,
  previousTerm: Term,
): { term: Term; size: number; end: number } {
  const shared = bytes[at] as number;
  const begin = at + 2;
  const termEnd = begin + (bytes[at + 1] as number);
  const term = previousTerm.slice(0, shared) + bytes.toString('latin1', begin, termEnd);
  const size = readVarint(bytes, termEnd);
  return { term, size, end: termEnd + varintsLength(bytes, termEnd, 1) };
}

/** @param list in the order of their terms */
export function packPostings(list: readonly Postings[]): Buffer {
  const length = list.reduce((sum, postings) => sum + packedLength(postings), 0);
  const bytes = Buffer.allocUnsafe(length);
  let at = 0;
  let previous = '';
  for (const { term, size, packed } of list) {
    const shared = commonPrefixLength(previous, term);
    bytes[at] = shared;
    bytes[at + 1] = term.length - shared;
    at += 2;
    at += bytes.write(term.slice(shared), at, 'latin1');
    at = writeVarint(bytes, size, at);
    bytes.set(packed, at);
    at += packed.length;
    previous = term;
  }
  return bytes.subarray(0, at);
}

function commonPrefixLength(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a.charCodeAt(length) === b.charCodeAt(length)) length += 1;
  return length;
}

/** Returns the maximum number of bytes of the postings in a block. */
export function packedLength({ term, packed }: Postings): number {
  return MAX_HEADER_BYTES + term.length + packed.length;
}

export function postingsOf(term: Term, keys: readonly number[]): Postings {
  return { term, size: keys.length, packed: packKeys(keys) };
}
