import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../database/engine.ts';
import { columnOf, prepare, prepareForRows } from '../database/prepared.ts';
import { pausing } from '../system/event-loop.ts';
import type { QueryWord, Term } from '../text/words/query.ts';

// Reads the index of the words of messages, whose entries are the times of messages. See `update.ts`.

/** Of the terms of a word, only so many are looked up. The texts decide about the others. */
const MAX_TERMS = 4;

/** A union of more lists would cost more than reading messages. */
const MAX_LISTS = 256;

/** Reading the texts of at most this number of messages is faster than reading another list. */
const FEW_TIMES = 64;

/**
 * Returns the times of all messages that can have all of the words, the latest first.
 * @param maxEntries lists with more entries are not read to their ends
 * @returns undefined if each word has more
 */
export async function readAllTimes(
  db: Database,
  spacePk: number,
  words: readonly QueryWord[],
  maxEntries: number,
): Promise<number[] | undefined> {
  const pause = pausing();
  const read = async (term: Term) => {
    await pause();
    return readList(db, spacePk, term, maxEntries);
  };
  const times = await readCommon(longestFirst(words), ({ anyOf }) =>
    readUnion(anyOf, (terms) => readCommon(terms.slice(0, MAX_TERMS), read)),
  );
  return times && [...times].sort((a, b) => b - a);
}

type Times = ReadonlySet<number>;

/** Returns the times that all lists have, and perhaps others if they are few; undefined if no list is known. */
async function readCommon<Item>(
  items: readonly Item[],
  read: (item: Item) => Promise<Times | undefined>,
): Promise<Times | undefined> {
  let common: Times | undefined;
  for (const item of items) {
    const times = await read(item);
    if (times) common = common ? common.intersection(times) : times;
    if (common && common.size <= FEW_TIMES) break;
  }
  return common;
}

/** Returns the times that one of the lists has; undefined if one of them is not known. */
async function readUnion<Item>(
  items: readonly Item[],
  read: (item: Item) => Promise<Times | undefined>,
): Promise<Times | undefined> {
  let union: Times = new Set();
  for (const item of items) {
    const times = await read(item);
    if (!times) return undefined;
    union = union.union(times);
  }
  return union;
}

/** The longest word is usually the rarest. */
function longestFirst(words: readonly QueryWord[]): QueryWord[] {
  return words.toSorted((a, b) => b.word.length - a.word.length);
}

/** Returns the times in the lists of a term; undefined if there are more than `maxEntries`. */
async function readList(
  db: Database,
  spacePk: number,
  { text, isPrefix }: Term,
  maxEntries: number,
): Promise<Times | undefined> {
  const limit = maxEntries + 1;
  const rows = isPrefix
    ? await selectRange(db, { spacePk, ...rangeOf(text), limit })
    : await selectLists(db, [{ spacePk, word: text, before: LAST_TIME, limit }]);
  return rows.length > maxEntries ? undefined : new Set(columnOf(rows, 'sent_ms'));
}

/**
 * Returns the indexed words whose lists together have all messages that can have one of the words.
 * @returns undefined if there are too many for each word
 */
export async function findLists(
  db: Database,
  spacePk: number,
  words: readonly QueryWord[],
): Promise<string[] | undefined> {
  const pause = pausing();
  for (const { anyOf } of longestFirst(words)) {
    const found = new Set<string>();
    for (const terms of anyOf) {
      await pause();
      const [longest] = terms.toSorted((a, b) => b.text.length - a.text.length) as [Term];
      for (const word of await expand(db, spacePk, longest)) found.add(word);
    }
    if (found.size <= MAX_LISTS) return [...found];
  }
  return undefined;
}

/** Returns the indexed words of a term. */
async function expand(db: Database, spacePk: number, { text, isPrefix }: Term): Promise<string[]> {
  if (!isPrefix) return [text];
  const rows = await selectWords(db, { spacePk, ...rangeOf(text), limit: MAX_LISTS + 1 });
  return columnOf(rows, 'word');
}

/** Number of entries that one statement reads, more if there are many lists. */
const ENTRIES_PER_READ = 128;

const MIN_ENTRIES_PER_LIST = 4;

/** Number of lists that are continued together. */
const LISTS_PER_READ = 8;

/** The part of a list before a time, and how many of its entries to read next. */
interface ListRest {
  word: string;
  before: number;
  limit: number;
}

/** Yields the times in the lists of words before a time, the latest first. Reads each list only as far as necessary. */
export async function* readTimesBefore(
  db: Database,
  spacePk: number,
  words: readonly string[],
  before: number,
): AsyncGenerator<number[]> {
  const first = Math.max(MIN_ENTRIES_PER_LIST, Math.ceil(ENTRIES_PER_READ / words.length));
  let next: ListRest[] = words.map((word) => ({ word, before, limit: first }));
  const rests: ListRest[] = [];
  let times: Times = new Set();
  while (next.length > 0) {
    const rows = await selectLists(
      db,
      next.map((rest) => ({ spacePk, ...rest })),
    );
    const entries = Map.groupBy(rows, ({ word }) => word);
    for (const { word, limit } of next) {
      const found = columnOf(entries.get(word) ?? [], 'sent_ms');
      if (found.length < limit) continue;
      rests.push({
        word,
        before: Math.min(...found),
        limit: Math.min(2 * limit, ENTRIES_PER_READ),
      });
    }
    // The next entries of these lists are the latest.
    rests.sort((a, b) => b.before - a.before);
    const end = rests[0]?.before ?? -Infinity;
    const known = times.union(new Set(columnOf(rows, 'sent_ms')));
    yield [...known].filter((time) => time >= end).sort((a, b) => b - a);
    times = new Set([...known].filter((time) => time < end));
    next = rests.splice(0, LISTS_PER_READ);
  }
}

/** After all times of messages. */
const LAST_TIME = Number.MAX_SAFE_INTEGER;

/** U+10FFFF is greater than every letter. */
function rangeOf(prefix: string): { from: string; to: string } {
  return { from: prefix, to: `${prefix}\u{10FFFF}` };
}

const RANGE = { spacePk: 'bigint', from: 'text', to: 'text', limit: 'bigint' } as const;

const selectRange = prepare(RANGE, (db, { spacePk, from, to, limit }) =>
  db
    .selectFrom('message_words')
    .select('sent_ms')
    .where('space_pk', '=', spacePk)
    .where('word', '>=', from)
    .where('word', '<', to)
    .limit(limit),
);

/** Reads each distinct word by one lookup, however many rows have it. */
const selectWords = prepare(RANGE, (_, { spacePk, from, to, limit }) => {
  const first = (condition: RawBuilder<unknown>) => sql`(
    SELECT word FROM message_words WHERE space_pk = ${spacePk} AND ${condition} AND word < ${to}
    ORDER BY word LIMIT 1
  )`;
  return sql<{ word: string }>`
    WITH RECURSIVE found (word) AS (
      SELECT ${first(sql`word >= ${from}`)}
      UNION ALL
      SELECT ${first(sql`word > found.word`)} FROM found WHERE found.word IS NOT NULL
    )
    SELECT word FROM found WHERE word IS NOT NULL LIMIT ${limit}`;
});

const selectLists = prepareForRows(
  { spacePk: 'bigint', word: 'text', before: 'bigint', limit: 'bigint' },
  (_, lists) => {
    const selects = lists.map(
      ({ spacePk, word, before, limit }) => sql`SELECT word, sent_ms FROM (
        SELECT word, sent_ms FROM message_words
        WHERE space_pk = ${spacePk} AND word = ${word} AND sent_ms < ${before}
        ORDER BY sent_ms DESC LIMIT ${limit}
      ) AS list`,
    );
    return sql<{ word: string; sent_ms: number }>`${sql.join(selects, sql` UNION ALL `)}`;
  },
);
