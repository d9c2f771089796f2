import { type RawBuilder, sql } from 'kysely';
import type { Participation, UnreadTotals } from '../../generated/types.gen.ts';
import type { Caller } from '../auth/sessions.ts';
import type { AvatarUrls } from '../avatars/store.ts';
import { hasBlocked } from '../database/blocks.ts';
import type { Database } from '../database/engine.ts';
import { isLiveSpace, isLiveUser } from '../database/erased-rows.ts';
import { readPage } from '../database/keyset-page.ts';
import { columnOf, prepareForSet } from '../database/prepared.ts';
import type { Page, PageRequest } from '../pagination.ts';
import { previewed, previewMessage } from './message-preview.ts';
import { isVisibleTo } from './rights.ts';

// Computed at request time, because a stored counter could drift, and all senders of a space would have to update it.

/** Only this many of the latest messages in a space are read, so that all spaces cost the same. */
const MAX_EXAMINED_MESSAGES = 100;

/** Number of participations that a request sorts or counts: the most recently joined ones. */
const MAX_SORTED_PARTICIPATIONS = 1_000;

export type Activity = Pick<
  Participation,
  'read_until' | 'last_message_at' | 'last_message' | 'unread_count' | 'unread_mentions' | 'muted'
>;

/** SQL for the time up to which the user of a row of `participations` has read. */
export const readUntil = sql<string>`coalesce(participations.read_until, participations.joined_at)`;

/** SQL for the latest messages in the space of a row of `participations`. The covering index has all of these columns. */
function latestMessages(earliest: RawBuilder<unknown> = sql`''`): RawBuilder<unknown> {
  return sql`(
    SELECT created_at, message_id, author_pk FROM messages
    WHERE messages.space_pk = participations.space_pk AND created_at > ${earliest}
    ORDER BY created_at DESC, message_id DESC LIMIT ${sql.lit(MAX_EXAMINED_MESSAGES)}
  ) AS latest`;
}

/** SQL for the author of the last message in the space of a row of `participations`, which lists show. */
export const latestAuthor = sql<number>`(
  SELECT author_pk FROM ${latestMessages()} WHERE ${isLiveUser('latest.author_pk')}
  ORDER BY created_at DESC, message_id DESC LIMIT 1
)`;

/**
 * SQL for the number of messages of others in the space of a row of `participations` that the user has not read. 0 in a
 * muted space.
 */
function unreadCount(userPk: RawBuilder<number> | number): RawBuilder<number> {
  return ifNotMuted(sql`(SELECT count(*) FROM ${latestMessages(readUntil)}
    WHERE author_pk <> ${userPk} AND ${isLiveUser('latest.author_pk')})`);
}

function ifNotMuted(count: RawBuilder<unknown>): RawBuilder<number> {
  return sql<number>`CASE WHEN participations.is_muted = 1 THEN 0 ELSE ${count} END`;
}

/**
 * SQL for the number of these messages that mention the user, among the latest 100 that do, without those of blocked users.
 * The primary key finds them.
 */
function unreadMentions(userPk: RawBuilder<number> | number): RawBuilder<number> {
  return ifNotMuted(sql`(SELECT count(*) FROM (
    SELECT message_pk FROM mentions
    WHERE mentions.user_pk = ${userPk} AND mentions.space_pk = participations.space_pk
      AND mentions.created_at > ${readUntil}
    ORDER BY mentions.created_at DESC LIMIT ${sql.lit(MAX_EXAMINED_MESSAGES)}
  ) AS latest JOIN messages ON messages.pk = latest.message_pk
  WHERE messages.author_pk <> ${userPk} AND ${isLiveUser('messages.author_pk')}
    AND NOT ${hasBlocked(userPk, sql.ref('messages.author_pk'))})`);
}

interface ActivityRow {
  space_pk: number;
  read_until: string;
  unread_count: number;
  unread_mentions: number;
  is_muted: number;
  message_id: string | null;
  created_at: string;
  /** See `previewed`. */
  text: string;
  user_id: string;
  username: string;
  avatar: string | null;
}

/** Returns what has happened in spaces in which the caller participates, by `pk`. Omits other spaces. */
export async function readActivity(
  db: Database,
  avatars: AvatarUrls,
  { userPk }: Caller,
  spacePks: readonly number[],
): Promise<Map<number, Activity>> {
  const rows = await selectActivity(
    db,
    spacePks.map((spacePk) => ({ spacePk, userPk })),
  );
  return new Map(rows.map((row) => [row.space_pk, describeActivity(avatars, row)]));
}

const selectActivity = prepareForSet({ spacePk: 'bigint', userPk: 'bigint' }, (_, rows) => {
  // The same one in each row.
  const { userPk } = rows[0] as (typeof rows)[number];
  return sql<ActivityRow>`
    SELECT participations.space_pk, ${readUntil} AS read_until, ${unreadCount(userPk)} AS unread_count,
      ${unreadMentions(userPk)} AS unread_mentions, is_muted, last.message_id, last.created_at, ${previewed('last.text')} AS text,
      users.user_id, users.username, users.avatar
    FROM participations
    LEFT JOIN messages AS last ON last.message_id = (
      SELECT message_id FROM ${latestMessages()} WHERE ${isLiveUser('latest.author_pk')}
      ORDER BY created_at DESC, message_id DESC LIMIT 1
    )
    LEFT JOIN users ON users.pk = last.author_pk
    WHERE participations.user_pk = ${userPk} AND left_at IS NULL
      AND participations.space_pk IN (${sql.join(columnOf(rows, 'spacePk'))})`;
});

function describeActivity(avatars: AvatarUrls, row: ActivityRow): Activity {
  const { read_until, unread_count, unread_mentions, message_id, created_at } = row;
  const last_message = message_id === null ? null : previewMessage(avatars, { ...row, message_id });
  const last_message_at = last_message && created_at;
  const muted = row.is_muted === 1;
  return { read_until, unread_count, unread_mentions, muted, last_message, last_message_at };
}

/** Returns the totals of the caller's spaces, of at most the 1,000 most recently joined ones. */
export async function countUnread(db: Database, caller: Caller): Promise<UnreadTotals> {
  const { userPk } = caller;
  const recent = selectRecentlyJoined(db, userPk).select('space_pk');
  const { rows } = await sql<UnreadTotals>`
    SELECT count(*) AS space_count, CAST(coalesce(sum(unread_count), 0) AS BIGINT) AS message_count
    FROM (
      SELECT space_pk, ${unreadCount(userPk)} AS unread_count FROM participations
      WHERE user_pk = ${userPk} AND space_pk IN (SELECT space_pk FROM ${recent.as('recent')})
    ) AS counted
    WHERE unread_count > 0 AND ${isVisibleTo(caller, sql.ref('counted.space_pk'))}`.execute(db);
  return rows[0] as UnreadTotals;
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
  const joined = selectRecentlyJoined(db, userPk).select(['space_pk', 'joined_at']).as('joined');
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

function selectRecentlyJoined(db: Database, userPk: number) {
  return db
    .selectFrom('participations')
    .where('user_pk', '=', userPk)
    .where('left_at', 'is', null)
    .where(isLiveSpace('space_pk'))
    .orderBy('joined_at', 'desc')
    .orderBy('space_pk', 'desc')
    .limit(MAX_SORTED_PARTICIPATIONS);
}
