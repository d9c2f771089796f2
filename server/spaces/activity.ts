import { sql } from 'kysely';
import type { Participation } from '../../generated/types.gen.ts';
import type { Caller } from '../auth/sessions.ts';
import type { Database } from '../database/engine.ts';
import { isLiveSpace, isLiveUser } from '../database/erased-rows.ts';
import { readPage } from '../database/keyset-page.ts';
import type { Page, PageRequest } from '../pagination.ts';

// Computed at request time, because a stored counter could drift, and all senders of a space would have to update it.

/** Only this many of the latest messages in a space are read, so that all spaces cost the same. */
const MAX_EXAMINED_MESSAGES = 100;

/** Number of participations that a request sorts by their last messages: the most recently joined ones. */
const MAX_SORTED_PARTICIPATIONS = 1_000;

export type Activity = Pick<Participation, 'read_until' | 'last_message_at' | 'unread_count'>;

/** Returns what has happened in spaces in which the caller participates, by `pk`. Omits other spaces. */
export async function readActivity(
  db: Database,
  { userPk }: Caller,
  spacePks: readonly number[],
): Promise<Map<number, Activity>> {
  if (spacePks.length === 0) return new Map();
  const readUntil = sql`coalesce(participations.read_until, participations.joined_at)`;
  const latest = (earliest = sql`''`) => sql`(
    SELECT created_at, author_pk FROM messages
    WHERE messages.space_pk = participations.space_pk AND created_at > ${earliest}
    ORDER BY created_at DESC, message_id DESC LIMIT ${sql.lit(MAX_EXAMINED_MESSAGES)}
  ) AS latest`;
  const { rows } = await sql<Activity & { space_pk: number }>`
    SELECT space_pk, ${readUntil} AS read_until,
      (SELECT max(created_at) FROM ${latest()}
        WHERE ${isLiveUser('latest.author_pk')}) AS last_message_at,
      (SELECT count(*) FROM ${latest(readUntil)}
        WHERE author_pk <> ${userPk} AND ${isLiveUser('latest.author_pk')}) AS unread_count
    FROM participations
    WHERE user_pk = ${userPk} AND left_at IS NULL AND space_pk IN (${sql.join(spacePks)})`.execute(
    db,
  );
  return new Map(rows.map(({ space_pk, ...activity }) => [space_pk, activity]));
}

/**
 * Returns a page of the spaces in which the caller participates, those with the latest message first. A space without
 * messages counts as active when the caller joined.
 */
export function listActiveSpaces(
  db: Database,
  { userPk }: Caller,
  request: PageRequest,
): Promise<Page<{ space_pk: number }>> {
  const joined = db
    .selectFrom('participations')
    .select(['space_pk', 'joined_at'])
    .where('user_pk', '=', userPk)
    .where('left_at', 'is', null)
    .where(isLiveSpace('space_pk'))
    .orderBy('joined_at', 'desc')
    .orderBy('space_pk', 'desc')
    .limit(MAX_SORTED_PARTICIPATIONS)
    .as('joined');
  const active = db
    .selectFrom(joined)
    .select('space_pk')
    .select(
      // One index lookup for each space. Includes messages that are being erased, which affect only the order.
      sql<string>`coalesce(
        (SELECT max(created_at) FROM messages WHERE messages.space_pk = joined.space_pk), joined_at
      )`.as('active_at'),
    )
    .as('active');
  const query = db.selectFrom(active).select(['space_pk', 'active_at']);
  return readPage(query, ['active_at', 'space_pk'], 'desc', request);
}
