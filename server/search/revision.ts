import { sql } from 'kysely';
import type { Database } from '../database/engine.ts';
import { prepare } from '../database/prepared.ts';

const selectVersions = prepare({}, (db) =>
  db
    .selectFrom(['search_revision', 'dictionary'])
    .select(['search_revision.value as revision', 'dictionary.version as dictionary']),
);

export interface SearchVersions {
  /** Increases with every write that can change a search result. */
  revision: number;
  /** See `Dictionary.version`. */
  dictionary: number;
}

/** Returns the versions of the search index, or of a snapshot of it. */
export async function currentVersions(db: Database): Promise<SearchVersions> {
  const [row] = await selectVersions(db, {});
  if (!row) throw new Error('The table search_revision or dictionary is empty.');
  return row;
}

/**
 * SQL for the current revision, to be stored in a row that is added, edited or moved down. Triggers ensure that a
 * search that sees the row has a greater revision.
 */
export const currentRevision = sql<number>`(SELECT value FROM search_revision)`;
