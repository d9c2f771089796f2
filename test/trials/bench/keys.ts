import type { Engine } from '../../../server/database/engine.ts';
import type { WordPattern } from '../../../server/database/word-index.ts';
import { matcherOf } from '../../../server/search/condition.ts';
import { interpret } from '../../../server/search/interpretation.ts';
import { queryWords } from '../../../server/text/words/query.ts';
import { findKeys } from '../../support/find-keys.ts';

/** Returns the pattern by which the service searches for all words of a query. */
export function patternOf(query: string): WordPattern {
  const words = queryWords(query).map(({ typed }) => [[typed], []] as const);
  return matcherOf(interpret(words)).pattern;
}

/** Reads the keys of a page from the word index, without the search for equal titles, corrections and rows. */
export function readKeys(engine: Engine, pattern: WordPattern): Promise<number[]> {
  return findKeys(engine, engine.db, { pattern, scope: 'all' }, 20);
}
