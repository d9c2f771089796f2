import type { Database, DatabaseTransaction, Engine, NewEvent } from '../database/engine.ts';
import { announceAfterCommit } from '../database/transaction.ts';
import { DomainError } from '../errors.ts';
import type { Position } from '../pagination.ts';
import { spaceSubject } from '../spaces/subjects.ts';

// Readers who follow a space learn of its events: a message is sent, edited, deleted, or appreciated by fewer or more
// users.
// Each event has a time, and the times of a space's events increase in the order in which they are committed, whatever
// the clocks of the machines are. So a reader who has seen all events up to a time asks for those after it, and misses
// none.

const DAY_MS = 24 * 60 * 60_000;

/** How long changes are kept: seven days after the day in a `ReaderPosition`. Messages themselves do not expire. */
const CHANGE_LIFETIME_MS = 8 * DAY_MS;

export interface ChangedMessage {
  messageId: string;
  spacePk: number;
}

/**
 * Records that messages are deleted, and announces it. Call it before deleting them, so that the time of the deletion is
 * later than theirs.
 */
export async function recordDeletions(
  engine: Engine,
  trx: DatabaseTransaction,
  messages: readonly ChangedMessage[],
): Promise<void> {
  const spacePks = messages.map(({ spacePk }) => spacePk);
  const spaces = await trx
    .selectFrom('spaces')
    .select('space_id')
    .where('pk', 'in', [...new Set(spacePks)])
    .execute();
  for (const { space_id } of spaces) announceAfterCommit(engine, spaceSubject(space_id));
  const { ms, transaction } = await engine.nextEvent(trx, spacePks);
  await insertChanges(trx, messages, formatTime(ms), transaction);
}

/** Records that the texts or appreciations of messages change. */
export async function recordChanges(
  engine: Engine,
  trx: DatabaseTransaction,
  messages: readonly ChangedMessage[],
): Promise<NewEvent> {
  const spacePks = messages.map(({ spacePk }) => spacePk);
  const event = await engine.nextEvent(trx, spacePks);
  await insertChanges(trx, messages, formatTime(event.ms), null);
  return event;
}

async function insertChanges(
  trx: DatabaseTransaction,
  messages: readonly ChangedMessage[],
  changed_at: string,
  changed_in: number | null,
): Promise<void> {
  await trx
    .insertInto('message_changes')
    .values(
      messages.map(({ messageId, spacePk }) => ({
        message_id: messageId,
        space_pk: spacePk,
        changed_at,
        changed_in,
      })),
    )
    .onConflict((conflict) => conflict.column('message_id').doUpdateSet({ changed_at, changed_in }))
    .execute();
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

/**
 * What a reader knows of a space: all events up to a point, and the state of the messages before it on a day, as a
 * number of days since 1970. Not more precise, so that equal pages have equal cursors. Older cursors have no day.
 */
export type ReaderPosition = readonly [time: number, messageId: string, day?: number];

/** Returns the position of a reader who has just read messages. */
export function readerAt([time, messageId]: EventPosition): Required<ReaderPosition> {
  return [time, messageId, dayOf(Date.now())];
}

/** Returns the position of a reader who has just read the events up to another point, or none. */
export function moveReader(
  [formerTime, formerId, day = dayOf(formerTime)]: ReaderPosition,
  [time, messageId]: EventPosition,
): Required<ReaderPosition> {
  if (time === formerTime && messageId === formerId) return readerAt([time, messageId]);
  // There can be more events, so the reader does not know the present state yet.
  return [time, messageId, Math.max(day, dayOf(time))];
}

/** Returns whether all changes that a reader does not know are kept. */
export function areChangesKept([time, , day = dayOf(time)]: ReaderPosition): boolean {
  return day * DAY_MS >= Date.now() - CHANGE_LIFETIME_MS;
}

function dayOf(milliseconds: number): number {
  return Math.floor(milliseconds / DAY_MS);
}

/** Greater than all message ids, which are ASCII letters, digits, `-` and `_`. */
const AFTER_ALL_IDS = '~';

/**
 * Returns the position after all messages of a time in a list of messages.
 * @throws DomainError `invalid_request` if there is no such time
 */
export function positionOfTime(time: string): Position {
  const ms = Date.parse(time);
  // Dates such as February 30 are parsed as the beginning of March.
  if (!Number.isNaN(ms) && formatTime(ms) === time) return [time, AFTER_ALL_IDS];
  throw new DomainError('invalid_request', 'There is no such time.', [
    { in: 'query', pointer: 'around', code: 'malformed', message: 'is not a time' },
  ]);
}

/**
 * Returns the position of a list page, newest first, among the events of its space.
 * @param newest the first message of the page, with the time of the space's last event as of the same snapshot
 * @param position where the page begins or which it surrounds; undefined for the first page
 */
export function positionAfter(
  newest: { created_at: string; message_id: string; last_event: string | null } | undefined,
  position: Position | undefined,
): EventPosition {
  if (!newest) {
    const [time, messageId] = position ?? [formatTime(0), ''];
    // Without messages around the time of a client. The next message can be earlier, by the clock of the server.
    if (messageId === AFTER_ALL_IDS) return [0, ''];
    return [Date.parse(time as string), messageId as string];
  }
  if (position === undefined) return [Date.parse(newest.last_event as string), AFTER_ALL_IDS];
  return [Date.parse(newest.created_at), newest.message_id];
}
