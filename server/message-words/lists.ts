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

/** The texts of so many messages are read faster than further lists. */
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

/** The lists whose union has all messages that can have a word. */
export interface WordLists {
  words: string[];
}

/**
 * Returns the lists whose union has all messages that can have one of the words.
 * @returns undefined if there are too many for each word
 */
export async function findLists(
  db: Database,
  spacePk: number,
  words: readonly QueryWord[],
): Promise<WordLists | undefined> {
  const pause = pausing();
  for (const { anyOf } of longestFirst(words)) {
    const found = new Set<string>();
    for (const terms of anyOf) {
      await pause();
      const [longest] = terms.toSorted((a, b) => b.text.length - a.text.length) as [Term];
      for (const word of await expand(db, spacePk, longest)) found.add(word);
    }
    if (found.size <= MAX_LISTS) return { words: [...found] };
  }
  return undefined;
}

/** Returns the indexed words of a term. */
async function expand(db: Database, spacePk: number, { text, isPrefix }: Term): Promise<string[]> {
  if (!isPrefix) return [text];
  const rows = await selectWords(db, { spacePk, ...rangeOf(text), limit: MAX_LISTS + 1 });
  return columnOf(rows, 'word');
}

/** Number of entries that `readTimesBefore` reads, more if there are many lists. */
const ENTRIES_PER_READ = 128;

const MIN_ENTRIES_PER_LIST = 4;

/**
 * Returns the latest times in the lists before a time, the latest first.
 * @returns the times, and the time before which others follow; null if there are none
 */
export async function readTimesBefore(
  db: Database,
  spacePk: number,
  { words }: WordLists,
  before: number,
): Promise<{ times: number[]; next: number | null }> {
  const share = Math.ceil(ENTRIES_PER_READ / words.length);
  const limit = Math.max(MIN_ENTRIES_PER_LIST, share);
  const rows = await selectLists(
    db,
    words.map((word) => ({ spacePk, word, before, limit })),
  );
  // The lists that continue are known up to their earliest entry, so only the times from there on are complete.
  const lists = Map.groupBy(rows, ({ word }) => word).values();
  const continuing = [...lists].filter((list) => list.length === limit);
  const ends = continuing.map((list) => Math.min(...columnOf(list, 'sent_ms')));
  const next = ends.length > 0 ? Math.max(...ends) : null;
  const times = new Set(columnOf(rows, 'sent_ms').filter((time) => time >= (next ?? -Infinity)));
  return { times: [...times].sort((a, b) => b - a), next };
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
