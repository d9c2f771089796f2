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
  let at = 0;
  while (at < bytes.length) {
    const shared = bytes[at] as number;
    const begin = at + 2;
    const end = begin + (bytes[at + 1] as number);
    term = term.slice(0, shared) + bytes.toString('latin1', begin, end);
    const size = readVarint(bytes, end);
    const keysBegin = end + varintsLength(bytes, end, 1);
    at = keysBegin + varintsLength(bytes, keysBegin, size);
    yield { term, size, packed: bytes.subarray(keysBegin, at) };
  }
}

/** Returns the keys of a term in a block. */
export function keysOfTerm(bytes: Buffer, term: Term): number[] {
  for (const postings of unpackPostings(bytes)) {
    if (postings.term === term) return unpackKeys(postings.packed);
  }
  return [];
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
