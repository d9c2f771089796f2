import type { WordPattern, WordQuery } from '../database/engine.ts';
import { type Dictionary, documentsWith, documentsWithPrefix } from './dictionary/dictionary.ts';

/**
 * What a request may still cost, in entries of the word index and in rows that turn out not to belong to the page. It
 * bounds the time of every request, whatever its text or cursor, and counts work, so that it does not depend on the
 * speed of the machine.
 */
export interface Budget {
  entries: number;
  rejectedRows: number;
}

/** About 5 ms of one core. The query as typed and the other query have a budget each. */
const MAX_ENTRIES = 150_000;
const MAX_REJECTED_ROWS = 500;

export function newBudget(): Budget {
  return { entries: MAX_ENTRIES, rejectedRows: MAX_REJECTED_ROWS };
}

/** About a third of the entries of a word are of titles. */
const TITLE_SHARE = 1 / 3;

/** Returns about how many entries the word index looks at for a query among so many documents. */
export function entriesOf(
  dictionary: Dictionary,
  { pattern, scope, except = [] }: WordQuery,
  documents: number,
): number {
  const candidates = Math.min(documents, candidatesOf(dictionary, pattern));
  const entries = entriesOfPattern(dictionary, pattern, documents);
  // Exceptions are looked up for candidates only.
  const excluded = except.map(
    (each) =>
      entriesOfPattern(dictionary, each.pattern, candidates) *
      (each.scope === 'title' ? TITLE_SHARE : 1),
  );
  return excluded.reduce(
    (sum, each) => sum + each,
    entries * (scope === 'title' ? TITLE_SHARE : 1),
  );
}

function entriesOfPattern(dictionary: Dictionary, pattern: WordPattern, documents: number): number {
  if ('term' in pattern) return Math.min(documents, candidatesOf(dictionary, pattern));
  // Of a conjunction, each part is looked up for the documents with the rarest one.
  const isConjunction = 'allOf' in pattern;
  const most = isConjunction ? Math.min(documents, candidatesOf(dictionary, pattern)) : documents;
  return (isConjunction ? pattern.allOf : pattern.anyOf).reduce(
    (sum, part) => sum + entriesOfPattern(dictionary, part, most),
    0,
  );
}

/** Returns about how many documents could match a pattern: those with its rarest word. */
function candidatesOf(dictionary: Dictionary, pattern: WordPattern): number {
  if ('term' in pattern) {
    const { term, isPrefix } = pattern;
    const known = isPrefix
      ? documentsWithPrefix(dictionary, term)
      : documentsWith(dictionary, term);
    return Math.max(known, dictionary.minDocuments);
  }
  if ('anyOf' in pattern) {
    return pattern.anyOf.reduce((sum, part) => sum + candidatesOf(dictionary, part), 0);
  }
  return Math.min(...pattern.allOf.map((part) => candidatesOf(dictionary, part)));
}
