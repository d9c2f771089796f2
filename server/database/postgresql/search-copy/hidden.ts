import { sql } from 'kysely';
import type { DatabaseTransaction } from '../../engine.ts';
import { columnOf } from '../../prepared.ts';
import { transact } from '../../transaction.ts';
import { type Copy, NO_CONTENTS, writeContents } from './contents.ts';

/** Number of spaces that one step adds or removes while searches run. */
export const SPACES_PER_STEP = 200;

/**
 * Removes a step of the spaces of suspended and deleted users. Results already omit them.
 * @returns false if there are none
 */
export async function removeHidden(copy: Copy): Promise<boolean> {
  const { rows } = await sql`SELECT 1 FROM erased_spaces LIMIT 1`.execute(copy.engine.db);
  if (rows.length === 0) return false;
  await transact(copy.engine, (index) => removeHiddenSpaces(copy, index));
  return true;
}

/** The same in a transaction. */
export async function removeHiddenSpaces(copy: Copy, index: DatabaseTransaction): Promise<void> {
  const { rows } = await sql<{ space_pk: number; isHidden: number | null }>`
    SELECT erased_spaces.space_pk, creator_pk NOT IN (SELECT pk FROM users) AS "isHidden"
    FROM erased_spaces LEFT JOIN public_spaces ON public_spaces.space_pk = erased_spaces.space_pk
    ORDER BY erased_spaces.space_pk LIMIT ${SPACES_PER_STEP}`.execute(index);
  // Those of users whose suspension has ended stay.
  const hidden = rows.filter(({ isHidden }) => isHidden === 1);
  await writeContents(copy, index, columnOf(hidden, 'space_pk'), NO_CONTENTS);
  const last = rows.at(-1)?.space_pk ?? 0;
  await sql`DELETE FROM erased_spaces WHERE space_pk <= ${last}`.execute(index);
}
