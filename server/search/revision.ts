import { sql } from 'kysely';
import type { Engine } from '../database/engine.ts';
import { prepare } from '../database/prepared.ts';

const selectVersions = prepare({}, (db) =>
  db
    .selectFrom(['search_revision', 'dictionary'])
    .select(['search_revision.value as revision', 'dictionary.version as dictionary']),
);

export interface SearchVersions {
  /**
   * Increases with every committed write that can change a search result. Later pages of a list omit spaces with the
   * revision of the first page or a later one: spaces that were added, edited or moved down since. An earlier page may
   * already contain them.
   */
  revision: number;
  /** See `Dictionary.version`. */
  dictionary: number;
}

/** Returns the versions as of the last committed write of any process. */
export async function currentVersions(engine: Engine): Promise<SearchVersions> {
  const [row] = await selectVersions(engine.db, {});
  if (!row) throw new Error('The table search_revision or dictionary is empty.');
  return row;
}

/**
 * SQL for the current revision, to be stored in a row that is added, edited or moved down. Triggers ensure that a
 * search that sees the row has a greater revision.
 */
export const currentRevision = sql<number>`(SELECT value FROM search_revision)`;
