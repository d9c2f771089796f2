import { sql } from 'kysely';
import type { Database } from '../database/engine.ts';
import { columnOf, prepareForRows, prepareForSet } from '../database/prepared.ts';
import { indexWords } from '../text/words/tokenize.ts';

// The index of the words of messages. Of a space, it has the messages up to the one in `indexed_messages`, and no later
// ones. Searches read the texts of the later ones, so sending a message does not touch the index, and spaces with few
// messages have none. Maintenance adds many messages of a space at once, see `indexing.ts`.
//
// A row of `message_words` says that a message of the space at this time has the word. Searches read the texts of all
// messages that they find, so a row too many would cost time, but a missing one would hide a message. Every transaction
// that changes messages calls `updateWords`.

/**
 * The index has no earlier times. Older versions imported years with a sign, such as `+010000`, and signs are before
 * digits in the order of messages.
 */
export const FIRST_INDEXED_TIME = '0';

/** A text in a message, or one that it had before a change. Empty for an added message. */
export interface MessageText {
  space_pk: number;
  created_at: string;
  text: string;
}

/**
 * Updates the index after messages have been added, edited or deleted in a transaction.
 * @param former the texts before the change
 */
export async function updateWords(trx: Database, former: readonly MessageText[]): Promise<void> {
  const ends = await readIndexEnds(trx, former);
  const indexed = former.filter(
    ({ space_pk, created_at }) =>
      created_at >= FIRST_INDEXED_TIME && created_at <= (ends.get(space_pk) ?? ''),
  );
  if (indexed.length === 0) return;
  // Imported messages can have equal times, and then share rows.
  const kept = wordsOf(await selectTexts(trx, indexed));
  await deleteWords(trx, minus(wordsOf(indexed), kept));
  await insertWords(trx, kept);
}

/** Adds the words of messages that the index does not have yet. */
export async function addWords(trx: Database, messages: readonly MessageText[]): Promise<void> {
  await insertWords(trx, wordsOf(messages));
}

/** Number of characters whose words are added or deleted together. Takes up to some 50 ms, if each one is a word. */
const MAX_CHARACTERS = 10_000;

/** Returns the first of some messages, at least one, whose words a transaction can add or delete without a long lock. */
export function firstBatch<Message>(
  messages: readonly Message[],
  lengthOf: (message: Message) => number,
): Message[] {
  let characters = 0;
  return messages.filter((message, i) => {
    characters += lengthOf(message);
    return i === 0 || characters <= MAX_CHARACTERS;
  });
}

interface WordRow {
  space_pk: number;
  word: string;
  sent_ms: number;
}

/** Returns the distinct rows of messages, in the order of the primary key, in which they are written faster. */
function wordsOf(messages: readonly MessageText[]): WordRow[] {
  const rows = messages.flatMap(({ space_pk, created_at, text }) => {
    const sent_ms = Date.parse(created_at);
    return indexWords(text).map((word) => ({ space_pk, word, sent_ms }));
  });
  const distinct = new Map(rows.map((row) => [keyOf(row), row]));
  return [...distinct.values()].sort(
    (a, b) =>
      a.space_pk - b.space_pk ||
      (a.word < b.word ? -1 : a.word > b.word ? 1 : a.sent_ms - b.sent_ms),
  );
}

function minus(rows: readonly WordRow[], kept: readonly WordRow[]): WordRow[] {
  const keys = new Set(kept.map(keyOf));
  return rows.filter((row) => !keys.has(keyOf(row)));
}

/** Words contain no spaces. */
function keyOf({ space_pk, word, sent_ms }: WordRow): string {
  return `${space_pk} ${word} ${sent_ms}`;
}

/** Returns the time of the last indexed message of each space that has one. */
async function readIndexEnds(
  trx: Database,
  messages: readonly MessageText[],
): Promise<Map<number, string>> {
  const spaces = new Set(columnOf(messages, 'space_pk'));
  const rows = await selectIndexEnds(
    trx,
    Array.from(spaces, (space_pk) => ({ space_pk })),
  );
  return new Map(rows.map(({ space_pk, created_at }) => [space_pk, created_at]));
}

const selectIndexEnds = prepareForSet({ space_pk: 'bigint' }, (db, rows) =>
  db
    .selectFrom('indexed_messages')
    .select(['space_pk', 'created_at'])
    .where('space_pk', 'in', columnOf(rows, 'space_pk')),
);

const selectTexts = prepareForSet({ space_pk: 'bigint', created_at: 'text' }, (db, rows) => {
  const times = rows.map(({ space_pk, created_at }) => sql`(${space_pk}, ${created_at})`);
  return db
    .selectFrom('messages')
    .select(['space_pk', 'created_at', 'text'])
    .where(sql<boolean>`(space_pk, created_at) IN (VALUES ${sql.join(times)})`);
});

const WORD_TYPES = { space_pk: 'bigint', word: 'text', sent_ms: 'bigint' } as const;

const insertWords = prepareForRows(WORD_TYPES, (db, rows) =>
  db
    .insertInto('message_words')
    .values(rows)
    .onConflict((conflict) => conflict.doNothing()),
);

const deleteWords = prepareForRows(WORD_TYPES, (db, rows) => {
  const keys = rows.map(({ space_pk, word, sent_ms }) => sql`(${space_pk}, ${word}, ${sent_ms})`);
  return db
    .deleteFrom('message_words')
    .where(sql<boolean>`(space_pk, word, sent_ms) IN (VALUES ${sql.join(keys)})`);
});
