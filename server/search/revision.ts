import { sql } from 'kysely';
import type { Engine } from '../database/engine.ts';
import { prepareRead } from '../database/prepared.ts';

const readValue = prepareRead({}, ({ readDb }) =>
  readDb.selectFrom('search_revision').select('value'),
);

/**
 * Returns a number that increases with every committed change to what searches can return. A walk through the pages
 * begins at one revision. It leaves out spaces of that revision or later, which were created, edited or moved down in
 * the order since, because an earlier page may have contained them.
 */
export async function currentRevision(engine: Engine): Promise<number> {
  const [row] = await readValue(engine, {});
  if (!row) throw new Error('The table search_revision is empty.');
  return row.value;
}

/** The current revision, for a row that is being written. */
export const nextRevision = sql<number>`(SELECT value FROM search_revision)`;
