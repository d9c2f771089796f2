import type { Database } from '../database/engine.ts';
import type { FoundKeys, WordQuery } from '../database/word-index.ts';
import type { AvatarResources } from '../resources.ts';
import type { Budget } from './budget.ts';
import { type Dictionary, statisticsOf } from './dictionary/dictionary.ts';

/** The state that all statements of a search share. */
export interface KeySearch {
  resources: AvatarResources;
  /** A snapshot of the search index. */
  db: Database;
  dictionary: Dictionary;
}

/**
 * Like `WordIndex.find`, within a budget.
 * @param mayOverdraw whether to search even if it costs more than the budget
 * @returns undefined if the budget is too small
 */
export async function findKeys(
  { resources, db, dictionary }: KeySearch,
  query: WordQuery,
  range: { after: number; limit: number },
  budget: Budget,
  mayOverdraw = false,
): Promise<FoundKeys | undefined> {
  const { wordIndex } = resources.engine;
  const maxEntries = mayOverdraw ? Infinity : budget.entries;
  const statistics = statisticsOf(dictionary);
  const found = await wordIndex.find(db, query, { ...range, maxEntries }, statistics);
  if (found) budget.entries -= found.entries;
  return found;
}
