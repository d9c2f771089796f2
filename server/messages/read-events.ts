import { sql } from 'kysely';
import type { Message } from '../../generated/types.gen.ts';
import type { Caller } from '../auth/sessions.ts';
import type { AvatarUrls } from '../avatars/store.ts';
import type { Database } from '../database/engine.ts';
import { prepare } from '../database/prepared.ts';
import { type EventPosition, formatTime } from './message-order.ts';
import { describeMessages, selectMessages } from './messages.ts';

/** A statement has at most 32,766 parameters, and some are for users. */
const MESSAGES_PER_STATEMENT = 1_000;

/** What has happened in a space after a position. */
export interface Events {
  /** New messages, oldest first. */
  items: Message[];
  /** Messages whose texts or appreciations have changed, as they are now. */
  changedItems: Message[];
  deletedMessageIds: string[];
  /** The position after these events. */
  newer: EventPosition;
}

/**
 * Reads the next events of a space, with messages as seen without a token. The caller of this function checks access,
 * afterwards: a user who has lost access must not get later messages.
 * @param limit maximum number of events
 */
export async function readEvents(
  db: Database,
  avatars: AvatarUrls,
  spacePk: number,
  position: EventPosition,
  limit: number,
): Promise<Events> {
  const [time, message_id] = position;
  const values = { space_pk: spacePk, time: formatTime(time), message_id, limit };
  const found = await findEvents(db, values);
  const events = found.sort((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1)).slice(0, limit);
  const last = events.at(-1);
  if (!last) return { items: [], changedItems: [], deletedMessageIds: [], newer: position };

  const rows = await selectMessages(db, null)
    .where(
      'messages.message_id',
      'in',
      events.map((event) => event.message_id),
    )
    .execute();
  const live = rows.filter(({ is_live }) => is_live);
  const described = await describeMessages(db, avatars, live);
  const messages = new Map(described.map((message) => [message.message_id, message]));
  const newIds = new Set<string>();
  const changedIds = new Set<string>();
  for (const event of events) (event.is_change ? changedIds : newIds).add(event.message_id);
  const describe = (ids: Iterable<string>) => [...ids].flatMap((id) => messages.get(id) ?? []);
  return {
    // A message that has just been deleted is missing. Its deletion follows.
    items: describe(newIds),
    changedItems: describe(changedIds).filter((message) => !newIds.has(message.message_id)),
    deletedMessageIds: [...changedIds].filter((id) => !messages.has(id)),
    newer: [Date.parse(last.time), last.message_id],
  };
}

/**
 * Reads which of the messages in `found` these callers have appreciated, and whose authors they have blocked, with a query
 * for all of them.
 * @returns a function that returns events as a caller sees them
 */
export async function readRelations(
  db: Database,
  found: Iterable<Events>,
  callers: readonly Caller[],
): Promise<(events: Events, caller: Caller | null) => Events> {
  const messages = [...found].flatMap(({ items, changedItems }) => [...items, ...changedItems]);
  if (messages.length === 0 || callers.length === 0) return (events) => events;
  // Many readers get the same messages, and an account can have several readers.
  const userPks = new Set(callers.map(({ userPk }) => userPk));
  const authorIds = new Set(messages.map(({ author }) => author.user_id));
  const appreciated = messages.filter(({ appreciation_count }) => appreciation_count > 0);
  const messageIds = new Set(appreciated.map(({ message_id }) => message_id));
  const appreciations = await findAppreciations(db, messageIds, userPks);
  const blocks = await findBlocks(db, authorIds, userPks);
  if (appreciations.length === 0 && blocks.length === 0) return (events) => events;
  // Ids of messages and users can be equal.
  const appreciatedBy = new Set(
    appreciations.map(({ user_pk, message_id }) => `${user_pk} ${message_id}`),
  );
  const blockedBy = new Set(blocks.map(({ user_pk, user_id }) => `${user_pk} ${user_id}`));
  return (events, caller) => {
    if (!caller) return events;
    const asSeen = (message: Message) => ({
      ...message,
      is_appreciated: appreciatedBy.has(`${caller.userPk} ${message.message_id}`),
      is_blocked: blockedBy.has(`${caller.userPk} ${message.author.user_id}`),
    });
    return {
      ...events,
      items: events.items.map(asSeen),
      changedItems: events.changedItems.map(asSeen),
    };
  };
}

/** Returns which of these users have blocked which of these authors. */
function findBlocks(
  db: Database,
  authorIds: ReadonlySet<string>,
  userPks: ReadonlySet<number>,
): Promise<{ user_id: string; user_pk: number }[]> {
  return db
    .selectFrom('blocks')
    .innerJoin('users', 'users.pk', 'blocks.blocked_pk')
    .select(['user_id', 'user_pk'])
    .where('user_pk', 'in', [...userPks])
    .where('user_id', 'in', [...authorIds])
    .execute();
}

/** Returns which of these users have appreciated which of these messages. */
async function findAppreciations(
  db: Database,
  messageIds: ReadonlySet<string>,
  userPks: ReadonlySet<number>,
): Promise<{ message_id: string; user_pk: number }[]> {
  const ids = [...messageIds];
  const rows = [];
  for (let i = 0; i < ids.length; i += MESSAGES_PER_STATEMENT) {
    const found = await db
      .selectFrom('appreciations')
      .innerJoin('messages', 'messages.pk', 'appreciations.message_pk')
      .select(['message_id', 'user_pk'])
      .where('message_id', 'in', ids.slice(i, i + MESSAGES_PER_STATEMENT))
      .where('user_pk', 'in', [...userPks])
      .execute();
    rows.push(found);
  }
  return rows.flat();
}

interface EventRow {
  time: string;
  message_id: string;
  /** 1 for a change or deletion, 0 for a new message. */
  is_change: number;
}

function sortKey({ time, message_id }: EventRow): string {
  return time + message_id;
}

/**
 * Finds the first `limit` messages and the first `limit` changes after a position. One statement reads both, because
 * between two statements, an event could become visible that is earlier than one that has been read.
 */
const findEvents = prepare(
  { space_pk: 'bigint', time: 'text', message_id: 'text', limit: 'bigint' },
  (_db, { space_pk, time, message_id, limit }) => sql<EventRow>`
      SELECT * FROM (
        SELECT created_at AS time, message_id, 0 AS is_change FROM messages
        WHERE space_pk = ${space_pk} AND (created_at, message_id) > (${time}, ${message_id})
        ORDER BY created_at, message_id LIMIT ${limit}
      ) AS sent
      UNION ALL
      SELECT * FROM (
        SELECT changed_at AS time, message_id, 1 AS is_change FROM message_changes
        WHERE space_pk = ${space_pk} AND (changed_at, message_id) > (${time}, ${message_id})
        ORDER BY changed_at, message_id LIMIT ${limit}
      ) AS changed`,
);
