import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../database/engine.ts';
import { columnOf, prepare, prepareForSet } from '../database/prepared.ts';
import type { QueryWord, Term } from '../text/words/query.ts';

// Reads the index of the words of messages, whose entries are the times of messages. See `update.ts`.

/** The list of a term with more entries is not read to its end. */
const MAX_LIST_ENTRIES = 1_000;

/** Of the terms of a word, only so many are looked up. The texts decide about the others. */
const MAX_TERMS = 4;

/** A union of more lists would cost more than reading messages. */
const MAX_LISTS = 256;

/**
 * Returns the times of all messages that can have all of the words, the latest first.
 * @returns undefined if each word has too many
 */
export async function readAllTimes(
  db: Database,
  spacePk: number,
  words: readonly QueryWord[],
): Promise<number[] | undefined> {
  let common: Set<number> | undefined;
  for (const word of words) {
    const times = await readTimesOf(db, spacePk, word);
    if (times) common = common ? inBoth(common, times) : times;
    if (common?.size === 0) break;
  }
  return common && [...common].sort((a, b) => b - a);
}

/** Returns the times of the messages that can have a word; undefined if there are too many. */
async function readTimesOf(
  db: Database,
  spacePk: number,
  { anyOf }: QueryWord,
): Promise<Set<number> | undefined> {
  const union = new Set<number>();
  for (const terms of anyOf) {
    let common: Set<number> | undefined;
    for (const term of terms.slice(0, MAX_TERMS)) {
      const times = await readList(db, spacePk, term);
      if (times) common = common ? inBoth(common, times) : times;
    }
    if (!common) return undefined;
    for (const time of common) union.add(time);
  }
  return union;
}

function inBoth(times: ReadonlySet<number>, others: ReadonlySet<number>): Set<number> {
  return new Set([...times].filter((time) => others.has(time)));
}

/** Returns the times in the lists of a term; undefined if there are too many. */
async function readList(
  db: Database,
  spacePk: number,
  { text, isPrefix }: Term,
): Promise<Set<number> | undefined> {
  const limit = MAX_LIST_ENTRIES + 1;
  const rows = isPrefix
    ? await selectRange(db, { spacePk, ...rangeOf(text), limit })
    : await selectLists(db, [{ spacePk, word: text, before: LAST_TIME, limit }]);
  return rows.length > MAX_LIST_ENTRIES ? undefined : new Set(columnOf(rows, 'sent_ms'));
}

/** The lists whose union has all messages that can have a word. */
export interface WordLists {
  words: string[];
}

/**
 * Returns the lists whose union has all messages that can have the longest of the words, which is usually the rarest.
 * @returns undefined if there are too many
 */
export async function findLists(
  db: Database,
  spacePk: number,
  words: readonly QueryWord[],
): Promise<WordLists | undefined> {
  const [longest] = words.toSorted((a, b) => b.word.length - a.word.length);
  const found = new Set<string>();
  for (const terms of longest?.anyOf ?? []) {
    const [term] = terms.toSorted((a, b) => b.text.length - a.text.length) as [Term];
    for (const word of await expand(db, spacePk, term)) found.add(word);
  }
  return found.size > MAX_LISTS ? undefined : { words: [...found] };
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
  // The lists that continue are known up to their last entry, so only the times from there on are complete.
  const lists = Map.groupBy(rows, ({ word }) => word).values();
  const lastEntries = Array.from(lists, (list) => (list.length < limit ? undefined : list.at(-1)));
  const ends = lastEntries.flatMap((entry) => entry?.sent_ms ?? []);
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

const selectLists = prepareForSet(
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
