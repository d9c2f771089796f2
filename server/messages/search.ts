import { type RawBuilder, sql } from 'kysely';
import type { Message } from '../../generated/types.gen.ts';
import type { Caller } from '../auth/sessions.ts';
import type { Database } from '../database/engine.ts';
import { lastEventTime } from '../database/last-event.ts';
import { columnOf, prepare, prepareForSet } from '../database/prepared.ts';
import { findLists, readAllTimes, readTimesBefore } from '../message-words/lists.ts';
import { FIRST_INDEXED_TIME } from '../message-words/update.ts';
import type { Page, PageRequest } from '../pagination.ts';
import type { AvatarResources } from '../resources.ts';
import { isVisibleTo } from '../spaces/rights.ts';
import { findSpace } from '../spaces/space-access.ts';
import { pausing } from '../system/event-loop.ts';
import { type EventPosition, formatTime, positionAfter } from './message-order.ts';
import { type MessageQuery, parseMessageQuery } from './message-query.ts';
import { describeMessages, selectMessages } from './messages.ts';

/** Number of code points of texts that a page reads, in about 10 ms. Then it ends early. */
const MAX_READ_LENGTH = 80_000;

/** The part of it for the latest messages. */
const MAX_LATEST_LENGTH = 20_000;

/** A word with so few entries in the index is rare: all of them are read. */
const FEW_ENTRIES = 1_000;

/** Reading so many entries takes about as long as the texts of a page, but the texts of these messages may be all. */
const MANY_ENTRIES = 10_000;

/** What reading a message costs beside its text. */
const MESSAGE_COST = 100;

/** Maximum number of messages that one statement reads. Greater than TIMES_PER_BATCH, because few have equal times. */
const MESSAGES_PER_BATCH = 100;

const TIMES_PER_BATCH = 64;

/** A place in the list of messages. */
type ListPosition = readonly [createdAt: string, messageId: string];

/** After all messages, whose times begin with a digit. */
const END: ListPosition = ['~', ''];
const BEGINNING: ListPosition = ['', ''];
const FIRST_INDEXED: ListPosition = [FIRST_INDEXED_TIME, ''];

/**
 * Returns a page of the messages of a space that match a search, newest first. The space must be public, or the caller a
 * participant. The page can have fewer messages than requested, even none, although others follow.
 * @returns the page, and in `newer` where `readEvents` continues
 * @throws DomainError `space_not_found`
 */
export async function searchMessages(
  { engine: { db }, avatars }: AvatarResources,
  caller: Caller | null,
  spaceId: string,
  text: string,
  { limit, position }: PageRequest,
): Promise<Page<Message> & { newer: EventPosition }> {
  const { pk: spacePk } = await findSpace(db, caller, spaceId);
  const newer = await readNewer(db, spacePk, position as ListPosition | undefined);
  const query = parseMessageQuery(text);
  const start = (position ?? END) as ListPosition;
  const { pks, next } = await searchIndexed(db, spacePk, (lastIndexed) =>
    findMatches({ db, spacePk, query, lastIndexed }, start, limit),
  );
  const rows = await selectMessages(db, caller)
    .where('messages.pk', 'in', pks.length > 0 ? pks : [0])
    .where(isVisibleTo(caller, spacePk))
    .execute();
  const found = new Map(rows.map((row) => [row.pk, row]));
  // Again, because a message may have been edited since.
  const matching = pks.flatMap((pk) => {
    const row = found.get(pk);
    return row?.is_live && query.matches(row.text) ? [row] : [];
  });
  return { items: await describeMessages(db, avatars, matching), next, newer };
}

/** Returns where readers continue who know the messages up to now or, with later pages, up to their beginning. */
async function readNewer(
  db: Database,
  spacePk: number,
  position: ListPosition | undefined,
): Promise<EventPosition> {
  if (position) return positionAfter(undefined, position);
  const { rows } = await sql<{ last_event: string | null }>`
    SELECT ${lastEventTime(spacePk)} AS last_event`.execute(db);
  const last_event = rows[0]?.last_event ?? null;
  if (last_event === null) return positionAfter(undefined, undefined);
  return positionAfter({ created_at: last_event, message_id: '', last_event }, undefined);
}

interface Search {
  db: Database;
  spacePk: number;
  query: MessageQuery;
  /** The last indexed message; undefined if the space has no index. */
  lastIndexed: ListPosition | undefined;
}

/** Runs a search, again if a repair has emptied the index meanwhile. */
async function searchIndexed<T>(
  db: Database,
  spacePk: number,
  search: (lastIndexed: ListPosition | undefined) => Promise<T>,
): Promise<T> {
  for (let lastIndexed = await readLastIndexed(db, spacePk); ; ) {
    const result = await search(lastIndexed);
    const last = await readLastIndexed(db, spacePk);
    if (!lastIndexed || (last && !isBefore(last, lastIndexed))) return result;
    lastIndexed = last;
  }
}

async function readLastIndexed(db: Database, spacePk: number): Promise<ListPosition | undefined> {
  const [last] = await selectLastIndexed(db, { spacePk });
  return last && positionOf(last);
}

interface TextRow {
  pk: number;
  created_at: string;
  message_id: string;
  text: string;
}

/**
 * Returns the first matches before a position.
 * @returns their keys, and the start of the next page; null on the last page
 */
async function findMatches(
  search: Search,
  position: ListPosition,
  limit: number,
): Promise<{ pks: number[]; next: ListPosition | null }> {
  const matches: TextRow[] = [];
  const pksOf = (rows: TextRow[]) => columnOf(rows, 'pk');
  if (search.query.words.length === 0) return { pks: [], next: null };
  const pause = pausing();
  let readLength = 0;
  for await (const row of readCandidates(search, position)) {
    if (search.query.matches(row.text)) matches.push(row);
    if (matches.length > limit) {
      const page = matches.slice(0, limit);
      return { pks: pksOf(page), next: positionOf(page.at(-1) as TextRow) };
    }
    readLength += costOf(row);
    if (readLength > MAX_READ_LENGTH) return { pks: pksOf(matches), next: positionOf(row) };
    await pause();
  }
  return { pks: pksOf(matches), next: null };
}

function costOf({ text }: TextRow): number {
  return MESSAGE_COST + text.length;
}

function positionOf({
  created_at,
  message_id,
}: Pick<TextRow, 'created_at' | 'message_id'>): ListPosition {
  return [created_at, message_id];
}

/** Yields the messages before a position that can match, newest first. */
async function* readCandidates(search: Search, position: ListPosition): AsyncGenerator<TextRow> {
  const { lastIndexed } = search;
  if (!lastIndexed) return yield* readTexts(search, BEGINNING, position);
  // Also those that are indexed meanwhile.
  yield* readTexts(search, lastIndexed, position);
  const [time, id] = lastIndexed;
  // A space is less than the characters of ids.
  yield* readIndexed(search, earlier(position, [time, `${id} `]));
  yield* readTexts(search, BEGINNING, earlier(position, FIRST_INDEXED));
}

/** Yields the indexed messages before a position that can match, newest first. */
async function* readIndexed(search: Search, position: ListPosition): AsyncGenerator<TextRow> {
  const { db, spacePk, query } = search;
  const times = await readAllTimes(db, spacePk, query.words, FEW_ENTRIES);
  if (times) return yield* readTextsAt(search, times, position);
  // The words are frequent, so the latest messages can suffice, which costs less than many lists.
  let from = position;
  let readLength = 0;
  for await (const row of readTexts(search, FIRST_INDEXED, position)) {
    yield row;
    from = positionOf(row);
    readLength += costOf(row);
    if (readLength > MAX_LATEST_LENGTH) break;
  }
  if (readLength <= MAX_LATEST_LENGTH) return;
  const lists = await findLists(db, spacePk, query.words);
  if (!lists) {
    // Very many words begin like each one of the query, so few messages are without, unless each of them is rare.
    const times = await readAllTimes(db, spacePk, query.words, MANY_ENTRIES);
    return yield* times ? readTextsAt(search, times, from) : readTexts(search, FIRST_INDEXED, from);
  }
  for await (const times of readTimesBefore(db, spacePk, lists, Date.parse(from[0]) + 1)) {
    yield* readTextsAt(search, times, from);
  }
}

function earlier(position: ListPosition, other: ListPosition): ListPosition {
  return isBefore(position, other) ? position : other;
}

function isBefore([time, id]: ListPosition, [otherTime, otherId]: ListPosition): boolean {
  return time < otherTime || (time === otherTime && id < otherId);
}

/** Yields the messages between two positions, newest first. */
function readTexts(
  { db, spacePk }: Search,
  [afterTime, afterId]: ListPosition,
  position: ListPosition,
): AsyncGenerator<TextRow> {
  return readBatches(position, ([beforeTime, beforeId]) =>
    selectTexts(db, { spacePk, afterTime, afterId, beforeTime, beforeId }),
  );
}

/** Yields the messages of some times before a position, newest first. */
async function* readTextsAt(
  { db, spacePk }: Search,
  times: readonly number[],
  position: ListPosition,
): AsyncGenerator<TextRow> {
  const latest = Date.parse(position[0]);
  const remaining = times.filter((time) => time <= latest);
  for (let i = 0; i < remaining.length; i += TIMES_PER_BATCH) {
    const batch = remaining.slice(i, i + TIMES_PER_BATCH);
    yield* readBatches(position, ([beforeTime, beforeId]) =>
      selectTextsAt(
        db,
        batch.map((time) => ({ spacePk, time: formatTime(time), beforeTime, beforeId })),
      ),
    );
  }
}

/** @param select returns up to MESSAGES_PER_BATCH messages before a position */
async function* readBatches(
  position: ListPosition,
  select: (before: ListPosition) => Promise<TextRow[]>,
): AsyncGenerator<TextRow> {
  for (let before = position; ; ) {
    const rows = await select(before);
    yield* rows;
    const last = rows.at(-1);
    if (!last || rows.length < MESSAGES_PER_BATCH) return;
    before = positionOf(last);
  }
}

const selectLastIndexed = prepare({ spacePk: 'bigint' }, (db, { spacePk }) =>
  db
    .selectFrom('indexed_messages')
    .select(['created_at', 'message_id'])
    .where('space_pk', '=', spacePk),
);

const selectTexts = prepare(
  { spacePk: 'bigint', afterTime: 'text', afterId: 'text', beforeTime: 'text', beforeId: 'text' },
  (db, { spacePk, afterTime, afterId, beforeTime, beforeId }) =>
    selectTextsBefore(db, spacePk, beforeTime, beforeId).where(
      sql<boolean>`(created_at, message_id) > (${afterTime}, ${afterId})`,
    ),
);

const selectTextsAt = prepareForSet(
  { spacePk: 'bigint', time: 'text', beforeTime: 'text', beforeId: 'text' },
  (db, rows) => {
    const [{ spacePk, beforeTime, beforeId }] = rows as [(typeof rows)[number]];
    return selectTextsBefore(db, spacePk, beforeTime, beforeId).where(
      'created_at',
      'in',
      columnOf(rows, 'time'),
    );
  },
);

function selectTextsBefore(
  db: Database,
  spacePk: RawBuilder<number>,
  time: RawBuilder<string>,
  id: RawBuilder<string>,
) {
  return db
    .selectFrom('messages')
    .select(['pk', 'created_at', 'message_id', 'text'])
    .where('space_pk', '=', spacePk)
    .where(sql<boolean>`(created_at, message_id) < (${time}, ${id})`)
    .orderBy('created_at', 'desc')
    .orderBy('message_id', 'desc')
    .limit(MESSAGES_PER_BATCH);
}
