import type { Engine, WordPattern } from '../../server/database/engine.ts';
import { typedMatcher } from '../../server/search/matcher.ts';
import { queryWords } from '../../server/text/words/query.ts';

/** Returns the pattern of all words of a query, as the service looks for them. */
export function patternOf(query: string): WordPattern {
  return typedMatcher(queryWords(query), { joins: [], inflections: [] }).pattern;
}

/** Reads only the keys of a page from the word index: no titles first, no corrections, no rows. */
export function readKeys(engine: Engine, pattern: WordPattern): Promise<number[]> {
  return engine.wordIndex.find(engine.readDb, { pattern, scope: 'all' }, { after: -1, limit: 20 });
}
