import type { WordPattern, WordQuery, WordScope } from '../database/word-index.ts';
import { type Dictionary, documentsWith, documentsWithPrefix } from './dictionary/dictionary.ts';

/**
 * The remaining work that a request may do. It bounds the time of every request, whatever its text or cursor. It counts
 * work instead of time, so that results do not depend on the speed of the machine.
 */
export interface Budget {
  /** Estimated number of entries to read from the word index. */
  entries: number;
  /** Number of rows to read that do not belong to the page. A row with a long text to verify counts several times. */
  rejectedRows: number;
}

/** Several milliseconds of one core. */
const MAX_ENTRIES = 200_000;
const MAX_REJECTED_ROWS = 1_000;

export function newBudget(): Budget {
  return { entries: MAX_ENTRIES, rejectedRows: MAX_REJECTED_ROWS };
}

/** Each rung of a list may spend half of what the rungs before have left, so that later ones always have a share. */
export async function spendHalf<T>(budget: Budget, work: (half: Budget) => Promise<T>): Promise<T> {
  const half = { entries: budget.entries / 2, rejectedRows: budget.rejectedRows / 2 };
  budget.entries -= half.entries;
  budget.rejectedRows -= half.rejectedRows;
  const result = await work(half);
  budget.entries += half.entries;
  budget.rejectedRows += half.rejectedRows;
  return result;
}

/** Verifying this many characters takes about as long as reading a row. */
const VERIFIED_CHARACTERS_PER_ROW = 60;

/** @param verifiedCharacters length of the text that had to be verified */
export function rejectRow(budget: Budget, verifiedCharacters: number): void {
  budget.rejectedRows -= 1 + verifiedCharacters / VERIFIED_CHARACTERS_PER_ROW;
}

/** Looking up a document in the posting list of a word costs about as much as reading this many entries. */
const LOOKUP_COST = 10;

/** About a third of the entries of a word are from titles. */
const TITLE_SHARE = 1 / 3;

/** Estimates how many entries the word index reads to find up to `limit` matches among this number of documents. */
export function estimateEntries(
  dictionary: Dictionary,
  { pattern, scope }: WordQuery,
  documents: number,
  limit = Infinity,
): number {
  if (scope !== 'other') return estimateUnionEntries(dictionary, pattern, scope, documents, limit);
  const candidates = Math.min(documents, estimateCandidates(dictionary, pattern));
  const entries = estimatePatternEntries(dictionary, pattern, documents);
  // Titles are looked up for candidates only.
  return entries + estimatePatternEntries(dictionary, pattern, candidates) * TITLE_SHARE;
}

/**
 * Like `estimateEntries`, for a query that excludes nothing. Every entry of a term is a match, also in a union, so the
 * word index reads at most `limit` entries of each term.
 */
function estimateUnionEntries(
  dictionary: Dictionary,
  pattern: WordPattern,
  scope: WordScope,
  documents: number,
  limit: number,
): number {
  if ('anyOf' in pattern) {
    return pattern.anyOf.reduce(
      (sum, part) => sum + estimateUnionEntries(dictionary, part, scope, documents, limit),
      0,
    );
  }
  const entries =
    estimatePatternEntries(dictionary, pattern, documents) * (scope === 'title' ? TITLE_SHARE : 1);
  return 'term' in pattern ? Math.min(entries, limit) : entries;
}

function estimatePatternEntries(
  dictionary: Dictionary,
  pattern: WordPattern,
  documents: number,
): number {
  if ('term' in pattern) {
    return Math.min(documents * LOOKUP_COST, estimateCandidates(dictionary, pattern));
  }
  // In a conjunction, only documents with the rarest part are looked up in the others.
  const isConjunction = 'allOf' in pattern;
  const lookups = isConjunction
    ? Math.min(documents, estimateCandidates(dictionary, pattern))
    : documents;
  return (isConjunction ? pattern.allOf : pattern.anyOf).reduce(
    (sum, part) => sum + estimatePatternEntries(dictionary, part, lookups),
    0,
  );
}

/** Estimates how many documents can match a pattern. In a conjunction, its rarest part decides. */
function estimateCandidates(dictionary: Dictionary, pattern: WordPattern): number {
  if ('term' in pattern) {
    const { term, isPrefix } = pattern;
    const known = isPrefix
      ? documentsWithPrefix(dictionary, term)
      : documentsWith(dictionary, term);
    return Math.max(known, dictionary.minDocuments);
  }
  if ('anyOf' in pattern) {
    return pattern.anyOf.reduce((sum, part) => sum + estimateCandidates(dictionary, part), 0);
  }
  return Math.min(...pattern.allOf.map((part) => estimateCandidates(dictionary, part)));
}
