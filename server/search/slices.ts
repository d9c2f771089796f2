import { type Dictionary, documentsWithPrefix } from './dictionary/dictionary.ts';
import { KEYS_PER_STEP, LAST_STEP, spacePkOf, stepOf } from './order.ts';

/**
 * Slices divide the documents into ranges of keys, so that a search for frequent words can run as several statements of
 * bounded cost. The word index contains a slice term for each document: `#`, the popularity step in two digits, and the
 * block of 32,768 spaces in three base-32 digits, counted down. A prefix of a slice term selects a larger range.
 */
const SLICE_MARK = '#';
const SPACES_PER_BLOCK = 2 ** 15;
const BLOCK_DIGITS = 3;
const LAST_BLOCK = 32 ** BLOCK_DIGITS - 1;

/** More prefixes make a statement slow, because the word index merges their posting lists for every candidate. */
const MAX_PREFIXES = 4;

/** A range of keys. */
export interface Slice {
  /** The documents of the range are those with a slice term that begins with one of these. */
  prefixes: string[];
  /** Approximate number of documents. */
  documents: number;
  lastKey: number;
  /** Whether no slice follows. */
  isLast: boolean;
}

/** Returns the slice term of the document with this key. */
export function sliceTerm(key: number): string {
  return blockPrefix(stepOf(key), blockOf(spacePkOf(key)));
}

/**
 * Divides the keys greater than `after` into consecutive slices.
 * @param maxSpacePk   the greatest `spacePk` of all documents
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
  let lastKey = after;
  for (const range of prefixRangesAfter(dictionary, after, maxSpacePk, maxDocuments)) {
    const isFull = documents + range.documents > maxDocuments || prefixes.length === MAX_PREFIXES;
    if (prefixes.length > 0 && isFull) {
      yield { prefixes, documents, lastKey, isLast: false };
      prefixes = [];
      documents = 0;
    }
    prefixes.push(range.prefix);
    documents += range.documents;
    lastKey = range.lastKey;
  }
  if (prefixes.length > 0) yield { prefixes, documents, lastKey, isLast: true };
}

/** A range of keys that one prefix selects. */
interface PrefixRange {
  prefix: string;
  documents: number;
  lastKey: number;
}

/**
 * Yields ranges of ten steps, one step or one block: the largest with at most `maxDocuments`, or a block if all are
 * larger. Includes ranges that seem empty, because the dictionary does not know the newest documents.
 */
function* prefixRangesAfter(
  dictionary: Dictionary,
  after: number,
  maxSpacePk: number,
  maxDocuments: number,
): Generator<PrefixRange> {
  const first = after + 1;
  const firstStep = stepOf(first);
  for (let step = firstStep; step <= LAST_STEP; step += 1) {
    const lastStepOfTen = Math.min(LAST_STEP, step - (step % 10) + 9);
    const tenSteps = prefixRange(
      dictionary,
      stepPrefix(step).slice(0, -1),
      lastKeyOfStep(lastStepOfTen),
    );
    if (tenSteps.documents <= maxDocuments) {
      yield tenSteps;
      step = lastStepOfTen;
      continue;
    }
    const oneStep = prefixRange(dictionary, stepPrefix(step), lastKeyOfStep(step));
    if (oneStep.documents <= maxDocuments) {
      yield oneStep;
      continue;
    }
    const newest = blockOf(maxSpacePk);
    const isFirst = step === firstStep;
    const firstBlock = isFirst ? Math.min(newest, blockOf(spacePkOf(first))) : newest;
    for (let block = firstBlock; block >= 0; block -= 1) {
      const lastKey = lastKeyOfStep(step) - block * SPACES_PER_BLOCK;
      yield prefixRange(dictionary, blockPrefix(step, block), lastKey);
    }
  }
}

function prefixRange(dictionary: Dictionary, prefix: string, lastKey: number): PrefixRange {
  return { prefix, documents: documentsWithPrefix(dictionary, prefix), lastKey };
}

function lastKeyOfStep(step: number): number {
  return (step + 1) * KEYS_PER_STEP - 1;
}

/** Blocks are numbered from the oldest spaces. The last one has all spaces beyond about the billionth. */
function blockOf(spacePk: number): number {
  return Math.min(LAST_BLOCK, Math.floor(spacePk / SPACES_PER_BLOCK));
}

function stepPrefix(step: number): string {
  return SLICE_MARK + String(step).padStart(2, '0');
}

function blockPrefix(step: number, block: number): string {
  // The newest block first, so that slice terms sort like keys.
  return stepPrefix(step) + (LAST_BLOCK - block).toString(32).padStart(BLOCK_DIGITS, '0');
}
