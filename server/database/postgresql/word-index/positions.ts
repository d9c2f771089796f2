import { AFTER_ALL_TERMS, type Term } from './terms.ts';

/**
 * The position of a posting in the index: the bytes of its term, a zero byte and six bytes of its key. Positions sort
 * by term and then by key, because no term contains a byte below MIN_TERM_BYTE.
 */
export type Position = string;

/** Terms contain no control characters. */
export const MIN_TERM_BYTE = '\x20';

export const KEY_BYTES = 6;

/** `upper` of the last block. Greater than every position, so that appending postings does not change it. */
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
  return term + MIN_TERM_BYTE;
}

export function toBytes(positions: readonly Position[]): Buffer[] {
  return positions.map((position) => Buffer.from(position, 'latin1'));
}
