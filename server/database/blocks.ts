import { type RawBuilder, sql } from 'kysely';

/** SQL condition: a user has blocked another one. */
export function hasBlocked(
  userPk: RawBuilder<number> | number,
  blockedPk: RawBuilder<number>,
): RawBuilder<boolean> {
  return sql<boolean>`EXISTS (
    SELECT 1 FROM blocks WHERE blocks.user_pk = ${userPk} AND blocks.blocked_pk = ${blockedPk}
  )`;
}
