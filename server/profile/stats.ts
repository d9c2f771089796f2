import { sql } from 'kysely';
import type { ProfileStats } from '../../generated/types.gen.ts';
import type { Database } from '../database/engine.ts';

/**
 * A user's contribution, counted from the rows as they are, in one statement and so at one moment: there are no
 * counters that could drift. Each part is read from one index. The spaces of many messages are counted by a look at
 * each space that was joined, which is much less than putting the messages together by space.
 */
export async function readStats(db: Database, userPk: number): Promise<ProfileStats> {
  const { rows } = await sql<ProfileStats>`
    SELECT
      (SELECT count(*) FROM spaces WHERE creator_pk = ${userPk}) AS spaces_created,
      (SELECT count(*) FROM participations WHERE user_pk = ${userPk} AND EXISTS (
        SELECT 1 FROM messages WHERE author_pk = participations.user_pk AND space_pk = participations.space_pk
      )) AS spaces_participated,
      (SELECT coalesce(sum(word_count), 0) FROM messages WHERE author_pk = ${userPk}) AS total_words_contributed,
      (SELECT count(*) FROM appreciations WHERE author_pk = ${userPk}) AS total_appreciations_received
  `.execute(db);
  return rows[0] as ProfileStats;
}
