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
const MAX_ENTRIES = 400_000;
const MAX_REJECTED_ROWS = 500;

export function newBudget(): Budget {
  return { entries: MAX_ENTRIES, rejectedRows: MAX_REJECTED_ROWS };
}

/** About a third of the entries of a word are of titles. */
const TITLE_SHARE = 1 / 3;

/** About how many entries the index looks at for each candidate: one for each term. */
export function costFactorOf({ pattern, scope }: Pick<WordQuery, 'pattern' | 'scope'>): number {
  return countTerms(pattern) * (scope === 'title' ? TITLE_SHARE : 1);
}

function countTerms(pattern: WordPattern): number {
  if ('term' in pattern) return 1;
  const parts = 'allOf' in pattern ? pattern.allOf : pattern.anyOf;
  return parts.reduce((sum, part) => sum + countTerms(part), 0);
}

/** About how many documents the index has to look at for a pattern: those with its rarest word. */
export function candidatesOf(dictionary: Dictionary, pattern: WordPattern): number {
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
