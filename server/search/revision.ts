import { sql } from 'kysely';
import type { Engine } from '../database/engine.ts';
import { prepareRead } from '../database/prepared.ts';

const readValue = prepareRead({}, ({ readDb }) =>
  readDb.selectFrom('search_revision').select('value'),
);

/**
 * A number that rises with every committed change of what a search could answer with. A space that has come, was
 * edited, or has moved down in the order since a walk through the pages began has a revision of this number or
 * more: the walk leaves it out, since it may have passed it already.
 */
export async function currentRevision(engine: Engine): Promise<number> {
  const [row] = await readValue(engine, {});
  if (!row) throw new Error('The table search_revision is empty.');
  return row.value;
}

/** The current revision, for a row that is written. */
export const nextRevision = sql<number>`(SELECT value FROM search_revision)`;

const readMaxSpacePk = prepareRead({}, ({ readDb }) =>
  readDb.selectFrom('public_spaces').select(({ fn }) => fn.max('space_pk').as('pk')),
);

/** The primary key of the newest public space; 0 without any. */
export async function maxSpacePk(engine: Engine): Promise<number> {
  const [row] = await readMaxSpacePk(engine, {});
  return row?.pk ?? 0;
}
