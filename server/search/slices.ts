import { type Dictionary, documentsWithPrefix } from './dictionary/dictionary.ts';
import { KEYS_PER_STEP, LAST_STEP, spacePkOf, stepOf } from './keys.ts';

/**
 * Slices divide the documents by their keys, so that a search of frequent words can be done in several statements of
 * bounded cost. Each document has the term of its slice among its words: `#`, the popularity step in two digits, and
 * the block of 32,768 space keys in three digits of base 32, counted down like the keys. Prefixes of such terms are
 * larger slices.
 */
const SLICE_MARK = '#';
const SPACES_PER_BLOCK = 2 ** 15;
const BLOCK_DIGITS = 3;
const LAST_BLOCK = 32 ** BLOCK_DIGITS - 1;

/** The word index merges the lists of all prefixes for every candidate, so that many of them are slow. */
const MAX_PREFIXES = 4;

/** A range of keys, as prefixes of the slice terms of all documents in it. */
export interface Slice {
  prefixes: string[];
  /** Approximate number of documents. */
  documents: number;
  /** The last key of the range. */
  until: number;
  isLast: boolean;
}

export function sliceTerm(key: number): string {
  return blockPrefix(stepOf(key), blockOf(spacePkOf(key)));
}

/**
 * Divides the keys greater than `after` into consecutive slices.
 * @param maxSpacePk   the greatest space key that a document can have
 * @param maxDocuments approximate size of a slice; a single block may exceed it
 */
export function* slicesAfter(
  dictionary: Dictionary,
  after: number,
  maxSpacePk: number,
  maxDocuments: number,
): Generator<Slice> {
  let prefixes: string[] = [];
  let documents = 0;
  let until = after;
  for (const part of partsAfter(dictionary, after, maxSpacePk, maxDocuments)) {
    const isFull = documents + part.documents > maxDocuments || prefixes.length === MAX_PREFIXES;
    if (prefixes.length > 0 && isFull) {
      yield { prefixes, documents, until, isLast: false };
      prefixes = [];
      documents = 0;
    }
    prefixes.push(part.prefix);
    documents += part.documents;
    until = part.until;
  }
  if (prefixes.length > 0) yield { prefixes, documents, until, isLast: true };
}

interface Part {
  prefix: string;
  documents: number;
  until: number;
}

/** Ten steps, one step or one block, whichever is small enough. Unknown parts are included: they may be new. */
function* partsAfter(
  dictionary: Dictionary,
  after: number,
  maxSpacePk: number,
  maxDocuments: number,
): Generator<Part> {
  const first = after + 1;
  const firstStep = stepOf(first);
  for (let step = firstStep; step <= LAST_STEP; step += 1) {
    const lastOfTen = Math.min(LAST_STEP, step - (step % 10) + 9);
    const ten = partOf(dictionary, stepPrefix(step).slice(0, -1), endOfStep(lastOfTen));
    if (ten.documents <= maxDocuments) {
      yield ten;
      step = lastOfTen;
      continue;
    }
    const whole = partOf(dictionary, stepPrefix(step), endOfStep(step));
    if (whole.documents <= maxDocuments) {
      yield whole;
      continue;
    }
    const newest = blockOf(maxSpacePk);
    const isFirst = step === firstStep;
    const firstBlock = isFirst ? Math.min(newest, blockOf(spacePkOf(first))) : newest;
    for (let block = firstBlock; block >= 0; block -= 1) {
      const until = endOfStep(step) - block * SPACES_PER_BLOCK;
      yield partOf(dictionary, blockPrefix(step, block), until);
    }
  }
}

function partOf(dictionary: Dictionary, prefix: string, until: number): Part {
  return { prefix, documents: documentsWithPrefix(dictionary, prefix), until };
}

function endOfStep(step: number): number {
  return (step + 1) * KEYS_PER_STEP - 1;
}

/** Blocks are numbered by age. The last one has all spaces beyond the billionth. */
function blockOf(spacePk: number): number {
  return Math.min(LAST_BLOCK, Math.floor(spacePk / SPACES_PER_BLOCK));
}

function stepPrefix(step: number): string {
  return SLICE_MARK + String(step).padStart(2, '0');
}

function blockPrefix(step: number, block: number): string {
  // Counted down, so that slice terms sort like keys.
  return stepPrefix(step) + (LAST_BLOCK - block).toString(32).padStart(BLOCK_DIGITS, '0');
}
