import type { TermStatistics, WordPattern, WordQuery, WordScope } from '../../word-index.ts';

/** Looking up a document in the posting list of a word costs about as much as reading this many entries. */
const LOOKUP_COST = 10;

/** About a third of the entries of a word are from titles. */
const TITLE_SHARE = 1 / 3;

/** Estimates how many entries the word index reads to find up to `limit` matches. */
export function estimateEntries(
  statistics: TermStatistics,
  { pattern, scope }: WordQuery,
  limit: number,
): number {
  if (scope !== 'other') return estimateUnionEntries(statistics, pattern, scope, limit);
  const { documents } = statistics;
  const candidates = Math.min(documents, estimateCandidates(statistics, pattern));
  const entries = estimatePatternEntries(statistics, pattern, documents);
  // Titles are looked up for candidates only.
  return entries + estimatePatternEntries(statistics, pattern, candidates) * TITLE_SHARE;
}

/**
 * Like `estimateEntries`, for a query that excludes nothing. Every entry of a term is a match, also in a union, so the
 * word index reads at most `limit` entries of each term.
 */
function estimateUnionEntries(
  statistics: TermStatistics,
  pattern: WordPattern,
  scope: WordScope,
  limit: number,
): number {
  if ('anyOf' in pattern) {
    return pattern.anyOf.reduce(
      (sum, part) => sum + estimateUnionEntries(statistics, part, scope, limit),
      0,
    );
  }
  const entries =
    estimatePatternEntries(statistics, pattern, statistics.documents) *
    (scope === 'title' ? TITLE_SHARE : 1);
  return 'term' in pattern ? Math.min(entries, limit) : entries;
}

function estimatePatternEntries(
  statistics: TermStatistics,
  pattern: WordPattern,
  documents: number,
): number {
  if ('term' in pattern) {
    return Math.min(documents * LOOKUP_COST, estimateCandidates(statistics, pattern));
  }
  // In a conjunction, only documents with the rarest part are looked up in the others.
  const isConjunction = 'allOf' in pattern;
  const lookups = isConjunction
    ? Math.min(documents, estimateCandidates(statistics, pattern))
    : documents;
  return (isConjunction ? pattern.allOf : pattern.anyOf).reduce(
    (sum, part) => sum + estimatePatternEntries(statistics, part, lookups),
    0,
  );
}

/** Estimates how many documents can match a pattern. In a conjunction, its rarest part decides. */
function estimateCandidates(statistics: TermStatistics, pattern: WordPattern): number {
  if ('term' in pattern) {
    return statistics.documentsWith(pattern.term, pattern.isPrefix);
  }
  if ('anyOf' in pattern) {
    return pattern.anyOf.reduce((sum, part) => sum + estimateCandidates(statistics, part), 0);
  }
  return Math.min(...pattern.allOf.map((part) => estimateCandidates(statistics, part)));
}
