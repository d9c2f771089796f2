import { sql } from 'kysely';
import type { Engine } from '../database/engine.ts';
import { prepareRead } from '../database/prepared.ts';

const readVersions = prepareRead({}, ({ readDb }) =>
  readDb
    .selectFrom(['search_revision', 'dictionary'])
    .select(['search_revision.value as revision', 'dictionary.version as dictionary']),
);

export interface SearchVersions {
  /**
   * Rises with every committed change of what a search could return. A space that has come, was edited, or has moved
   * down in the order since the first page of a list was read has a revision of this number or more. The list leaves it
   * out, since it may have passed it already.
   */
  revision: number;
  /** The version of the dictionary. */
  dictionary: number;
}

export async function currentVersions(engine: Engine): Promise<SearchVersions> {
  const [row] = await readVersions(engine, {});
  if (!row) throw new Error('The table search_revision or dictionary is empty.');
  return row;
}

/** The current revision, for a row that is being written. */
export const nextRevision = sql<number>`(SELECT value FROM search_revision)`;

const readMaxSpacePk = prepareRead({}, ({ readDb }) =>
  readDb.selectFrom('public_spaces').select(({ fn }) => fn.max('space_pk').as('pk')),
);

/** The primary key of the newest public space; 0 without any. */
export async function maxSpacePk(engine: Engine): Promise<number> {
  const [row] = await readMaxSpacePk(engine, {});
  return row?.pk ?? 0;
}
