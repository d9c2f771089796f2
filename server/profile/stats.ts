import { sql } from 'kysely';
import type { ProfileStats } from '../../generated/types.gen.ts';
import type { Database } from '../database/engine.ts';

/**
 * Returns a user's statistics. One statement counts the rows, so all numbers are of the same snapshot.
 *
 * Each number is read from one index. Only `spaces_participated`, the number of spaces that the user ever joined and that have a
 * message of theirs, looks up each joined space in a second index. This is much faster than grouping the messages by
 * space.
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
