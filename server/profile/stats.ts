import { sql } from 'kysely';
import type { ProfileStats } from '../../generated/types.gen.ts';
import type { Database } from '../database/engine.ts';
import { isLiveSpace, isLiveUser } from '../database/erased-rows.ts';
import { prepare } from '../database/prepared.ts';

/**
 * Returns a user's statistics. One statement counts the rows, so all numbers are of the same snapshot.
 *
 * Each subquery reads one index. Words and appreciations that are being erased are counted separately and subtracted,
 * because looking up every row in the erasure queues would take longer than counting. `spaces_participated`, the number
 * of spaces that the user ever joined and that have a message of theirs, looks up each joined space in a second index.
 * This is much faster than grouping the messages by space.
 *
 * `EXISTS (SELECT 1 FROM erased_users)` skips a count while no user is being erased. `isLiveUser` prevents subtracting
 * an appreciation twice.
 */
export async function readStats(db: Database, userPk: number): Promise<ProfileStats> {
  const [stats] = await selectStats(db, { userPk });
  return stats as ProfileStats;
}

const selectStats = prepare(
  { userPk: 'bigint' },
  (_db, { userPk }) => sql<ProfileStats>`
    SELECT
      (SELECT count(*) FROM spaces WHERE creator_pk = ${userPk} AND ${isLiveSpace('spaces.pk')}) AS spaces_created,
      (SELECT count(*) FROM participations
        WHERE user_pk = ${userPk} AND ${isLiveSpace('participations.space_pk')} AND EXISTS (
          SELECT 1 FROM messages WHERE author_pk = participations.user_pk AND space_pk = participations.space_pk
        )) AS spaces_participated,
      (SELECT coalesce(sum(word_count), 0) FROM messages WHERE author_pk = ${userPk})
        - (SELECT coalesce(sum(word_count), 0) FROM messages
          WHERE author_pk = ${userPk} AND space_pk IN (SELECT space_pk FROM erased_spaces)) AS total_words_contributed,
      (SELECT count(*) FROM appreciations WHERE author_pk = ${userPk})
        - (SELECT count(*) FROM appreciations
          WHERE author_pk = ${userPk} AND EXISTS (SELECT 1 FROM erased_users)
            AND user_pk IN (SELECT user_pk FROM erased_users))
        - (SELECT count(*) FROM messages JOIN appreciations ON appreciations.message_pk = messages.pk
          WHERE messages.author_pk = ${userPk} AND messages.space_pk IN (SELECT space_pk FROM erased_spaces)
            AND ${isLiveUser('appreciations.user_pk')}) AS total_appreciations_received
  `,
);
