import { AFTER_ALL_TERMS, type Term } from './terms.ts';

/**
 * The place of a posting in the index: the bytes of its term, a zero byte and six bytes of its key. They sort like
 * postings, because no term contains a byte below FIRST_BYTE_OF_TERMS.
 */
export type Position = string;

/** Terms contain no control characters. */
export const FIRST_BYTE_OF_TERMS = '\x20';

export const KEY_BYTES = 6;

/** `upper` of the last block, so that it does not change when greater postings are added. */
export const LAST_POSITION = positionOf(AFTER_ALL_TERMS, 2 ** (8 * KEY_BYTES) - 1);
export const LAST_UPPER = Buffer.from(LAST_POSITION, 'latin1');

export function positionOf(term: Term, key: number): Position {
  const bytes = Buffer.alloc(KEY_BYTES);
  bytes.writeUIntBE(key, 0, KEY_BYTES);
  return `${term}\0${bytes.toString('latin1')}`;
}

export function termAt(position: Position): Term {
  return position.slice(0, -KEY_BYTES - 1);
}

export function keyAt(position: Position): number {
  return Buffer.from(position, 'latin1').readUIntBE(position.length - KEY_BYTES, KEY_BYTES);
}

/** A position after all postings of a term. */
export function endOf(term: Term): Position {
  return term + FIRST_BYTE_OF_TERMS;
}

export function toBytes(positions: readonly Position[]): Buffer[] {
  return positions.map((position) => Buffer.from(position, 'latin1'));
}
