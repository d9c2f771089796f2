import type { Database, Engine } from '../../server/database/engine.ts';
import type { WordQuery } from '../../server/database/word-index.ts';

/** Returns the first keys of matching documents, whatever the cost. */
export async function findKeys(
  { wordIndex }: Pick<Engine, 'wordIndex'>,
  db: Database,
  query: WordQuery,
  limit: number,
): Promise<number[]> {
  const free = { documents: 0, documentsWith: () => 0 };
  const found = await wordIndex.find(db, query, { after: -1, limit, maxEntries: 0 }, free);
  return found?.keys as number[];
}
