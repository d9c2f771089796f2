import { sql } from 'kysely';
import type { ProfileStats } from '../../generated/types.gen.ts';
import type { Database } from '../database/engine.ts';

/**
 * A user's contribution, counted from the rows as they are, in one statement and so at one moment: there are no
 * counters that could drift. Each part is read from one index. Only who has joined a space has messages in it, so
 * the spaces of one's messages are those one took part in.
 */
export async function readStats(db: Database, user: number): Promise<ProfileStats> {
  const { rows } = await sql<ProfileStats>`
    SELECT
      (SELECT count(*) FROM spaces WHERE creator = ${user}) AS spaces_created,
      count(*) AS spaces_participated,
      coalesce(sum(words), 0) AS total_words_contributed,
      (SELECT count(*) FROM appreciations WHERE author = ${user}) AS total_appreciations_received
    FROM (SELECT sum(word_count) AS words FROM messages WHERE author = ${user} GROUP BY space) AS contributions
  `.execute(db);
  return rows[0] as ProfileStats;
}
