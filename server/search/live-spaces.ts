import type { Database } from '../database/engine.ts';
import { isLiveSpace } from '../database/erased-rows.ts';
import { columnOf } from '../database/prepared.ts';

/**
 * Returns the `pk` of a space, or of all that a user created. Not of deleted ones: if the index contained them again,
 * erasing their rows would fail.
 */
export async function findSpacesOf(
  db: Database,
  column: 'pk' | 'creator_pk',
  value: number,
): Promise<number[]> {
  const spaces = await db
    .selectFrom('spaces')
    .select('pk')
    .where(column, '=', value)
    .where(isLiveSpace('pk'))
    .execute();
  return columnOf(spaces, 'pk');
}
