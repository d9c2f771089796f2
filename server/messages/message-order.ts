import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../database/engine.ts';
import { prepare, prepareWriteMany } from '../database/prepared.ts';
import type { PageRequest } from '../pagination.ts';

// Readers who follow a space learn of its events: a message is sent, deleted, or appreciated by fewer or more users.
// Each event has a time, and the times of a space's events increase in the order in which they are committed, whatever
// the clocks of the machines are. So a reader who has seen all events up to a time asks for those after it, and misses
// none. The transactions of events must use `transactInOrder`.

/** How long changes are kept. Messages themselves do not expire. */
const CHANGE_LIFETIME_MS = 7 * 24 * 60 * 60_000;

/** Advances the clock of a space, and returns the time of a new event in it. */
export async function nextEventTime(trx: Database, spacePk: number): Promise<string> {
  const [clock] = await advanceClock(trx, { space_pk: spacePk, now: Date.now() });
  return formatTime((clock as { last_event_ms: number }).last_event_ms);
}

/** Sets the clock to now, or to a millisecond later than the last event, if that one is not in the past. */
const advanceClock = prepare({ space_pk: 'bigint', now: 'bigint' }, (db, { space_pk, now }) =>
  db
    .insertInto('space_clocks')
    .values({ space_pk, last_event_ms: now })
    .onConflict((conflict) =>
      conflict.column('space_pk').doUpdateSet({
        last_event_ms: sql`CASE WHEN space_clocks.last_event_ms < excluded.last_event_ms
          THEN excluded.last_event_ms ELSE space_clocks.last_event_ms + 1 END`,
      }),
    )
    .returning('last_event_ms'),
);

/**
 * Advances the clocks of spaces to the times of imported messages, so that later events have later times. Ignores times
 * in the future, because later events would get such times, too.
 */
export async function advanceClocks(
  trx: Database,
  messages: readonly { space_pk: number; created_at: string }[],
): Promise<void> {
  const now = Date.now();
  const clocks = new Map<number, number>();
  for (const { space_pk, created_at } of messages) {
    const time = Date.parse(created_at);
    if (time <= now) clocks.set(space_pk, Math.max(time, clocks.get(space_pk) ?? 0));
  }
  await setClocks(
    trx,
    Array.from(clocks, ([space_pk, last_event_ms]) => ({ space_pk, last_event_ms })),
  );
}

const setClocks = prepareWriteMany({ space_pk: 'bigint', last_event_ms: 'bigint' }, (db, rows) =>
  db
    .insertInto('space_clocks')
    .values(rows)
    .onConflict((conflict) =>
      conflict
        .column('space_pk')
        .doUpdateSet({ last_event_ms: sql`excluded.last_event_ms` })
        .where(sql<boolean>`space_clocks.last_event_ms < excluded.last_event_ms`),
    ),
);

/** Records that a message was deleted or that its appreciations changed. */
export async function recordChange(
  trx: Database,
  { spacePk, messageId }: { spacePk: number; messageId: string },
): Promise<void> {
  const changed_at = await nextEventTime(trx, spacePk);
  await trx
    .insertInto('message_changes')
    .values({ message_id: messageId, space_pk: spacePk, changed_at })
    .onConflict((conflict) => conflict.column('message_id').doUpdateSet({ changed_at }))
    .execute();
}

/**
 * Records changes of messages in any spaces.
 * @param messagePks SQL for a list of the messages' keys
 */
export async function recordChanges(trx: Database, messagePks: RawBuilder<unknown>): Promise<void> {
  const spacePks = sql`SELECT space_pk FROM messages WHERE pk IN (${messagePks})`;
  const { last } = await trx
    .selectFrom('space_clocks')
    .select(({ fn }) => fn.max('last_event_ms').as('last'))
    .where(sql<boolean>`space_pk IN (${spacePks})`)
    .executeTakeFirstOrThrow();
  // One time for all of them, later than the last event of each space.
  const time = Math.max(Date.now(), (last ?? 0) + 1);
  await sql`INSERT INTO space_clocks (space_pk, last_event_ms)
    SELECT pk, CAST(${time} AS BIGINT) FROM spaces WHERE pk IN (${spacePks})
    ON CONFLICT (space_pk) DO UPDATE SET last_event_ms = excluded.last_event_ms`.execute(trx);
  await sql`INSERT INTO message_changes (message_id, space_pk, changed_at)
    SELECT message_id, space_pk, CAST(${formatTime(time)} AS TEXT) FROM messages WHERE pk IN (${messagePks})
    ON CONFLICT (message_id) DO UPDATE SET changed_at = excluded.changed_at`.execute(trx);
}

/** Deletes changes that have expired. */
export async function deleteExpiredChanges(db: Database): Promise<void> {
  const expired = formatTime(Date.now() - CHANGE_LIFETIME_MS);
  await db.deleteFrom('message_changes').where('changed_at', '<', expired).execute();
}

export function formatTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

/** A point between two events of a space: the time of the event before it in milliseconds, and its message id. */
export type EventPosition = readonly [time: number, messageId: string];

/** Greater than all message ids, which are ASCII letters, digits, `-` and `_`. */
const AFTER_ALL_IDS = '~';

/**
 * Returns the position of a list page, newest first, among the events of its space.
 * @param newest the first message of the page, with the space's clock as of the same snapshot
 */
export function positionAfter(
  newest: { created_at: string; message_id: string; clock: number | null } | undefined,
  { position }: PageRequest,
): EventPosition {
  if (!newest) {
    const [time, messageId] = position ?? [formatTime(0), ''];
    return [Date.parse(time as string), messageId as string];
  }
  const clock: EventPosition = [newest.clock ?? 0, AFTER_ALL_IDS];
  if (position === undefined) return clock;
  const first: EventPosition = [Date.parse(newest.created_at), newest.message_id];
  // Imported messages can have times in the future.
  return first[0] > clock[0] ? clock : first;
}
