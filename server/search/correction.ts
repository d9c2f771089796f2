import { type RawBuilder, sql } from 'kysely';
import type { Database, Engine } from '../database/engine.ts';
import { prepareRead, prepareWrite } from '../database/prepared.ts';
import type { KnownWordDeletions } from '../database/schema.ts';
import { isCorrectable } from './words/tokenize.ts';

/**
 * Corrections after SymSpell (Wolf Garbe, 2012): two words within an edit distance of d share a text that is each of
 * them with at most d letters left out. Keeping such texts of every known word turns the search for similar words
 * into a few look-ups. Only a word's first letters are taken, which bounds the number of texts; the candidates'
 * true distance is measured.
 */
const PREFIX = 7;

/** Words of eight letters and more may be two edits away. */
const LONG = 8;

/** Returns the maximum edit distance of a correction: 2 for long words, otherwise 1. */
function tolerance(word: string): number {
  return [...word].length >= LONG ? 2 : 1;
}

/** The parameters of `count` rows, each a text and then a number. */
function alternate(count: number): Record<number, 'text' | 'bigint'> {
  return Array.from({ length: 2 * count }, (_, i) => (i % 2 === 0 ? 'text' : 'bigint'));
}

/** Rows of one statement, for fewer statements: about as many as the words of one space need. */
const BATCH = 256;

/** Inserts `BATCH` rows, each a deletion and then a word. A row may come twice. */
const insertDeletions = prepareWrite(alternate(BATCH), ({ db }, values) =>
  db
    .insertInto('known_word_deletions')
    .values(
      Array.from({ length: BATCH }, (_, i) => ({
        deletion: values[2 * i] as RawBuilder<string>,
        word: values[2 * i + 1] as RawBuilder<number>,
      })),
    )
    .onConflict((conflict) => conflict.doNothing()),
);

/** Statements for a fixed number of words, each a word and then the number of new documents that contain it. */
const addWords = [32, 8, 1].map((count) => ({
  count,
  add: prepareWrite(alternate(count), ({ db }, values) =>
    db
      .insertInto('known_words')
      .values(
        Array.from({ length: count }, (_, i) => ({
          word: values[2 * i] as RawBuilder<string>,
          spaces: values[2 * i + 1] as RawBuilder<number>,
        })),
      )
      .onConflict((conflict) =>
        conflict.column('word').doUpdateSet({ spaces: sql`known_words.spaces + excluded.spaces` }),
      )
      .returning(['id', 'word', 'spaces']),
  ),
}));

/** Adds the words of new documents to the dictionary, each with the number of documents that contain it. */
export async function learnWords(
  engine: Engine,
  db: Database,
  words: Iterable<readonly [word: string, documents: number]>,
): Promise<void> {
  const documents = new Map([...words].filter(([word]) => isCorrectable(word)));
  const pending = [...documents];
  const added: KnownWordDeletions[] = [];
  for (const { count, add } of addWords) {
    while (pending.length >= count) {
      for (const { id, word, spaces } of await add(engine, pending.splice(-count).flat(), db)) {
        if (spaces === documents.get(word)) added.push(...deletionsOf(id, word));
      }
    }
  }
  // In the order of the table, which is much the fastest for many.
  added.sort((a, b) => (a.deletion < b.deletion ? -1 : 1));
  for (let i = 0; i < added.length; i += BATCH) {
    const values: (string | number)[] = [];
    for (let j = 0; j < BATCH; j += 1) {
      // A last batch that is not full ends with its last row over and over.
      const row = (added[i + j] ?? added.at(-1)) as KnownWordDeletions;
      values.push(row.deletion, row.word);
    }
    await insertDeletions(engine, values, db);
  }
}

/** Takes back what `learnWords` did for one document: a word in no document any more is not known. */
export async function forgetWords(db: Database, words: readonly string[]): Promise<void> {
  const known = words.filter(isCorrectable);
  if (known.length === 0) return;
  await db
    .updateTable('known_words')
    .set({ spaces: sql`spaces - 1` })
    .where('word', 'in', known)
    .execute();
  const forgotten = await db
    .deleteFrom('known_words')
    .where('word', 'in', known)
    .where('spaces', '=', 0)
    .returning(['id', 'word'])
    .execute();
  for (const { id, word } of forgotten) {
    await db
      .deleteFrom('known_word_deletions')
      .where('word', '=', id)
      .where(
        'deletion',
        'in',
        deletionsOf(id, word).map(({ deletion }) => deletion),
      )
      .execute();
  }
}

/** Maximum number of deletions of a word: its first seven letters with up to two of them left out. */
const MAX_DELETIONS = 1 + 7 + 21;

const findSimilar = prepareRead(
  Array.from({ length: MAX_DELETIONS }, (): 'text' => 'text') as Record<number, 'text'>,
  ({ readDb }, texts) =>
    readDb
      .selectFrom('known_word_deletions')
      .innerJoin('known_words', 'known_words.id', 'known_word_deletions.word')
      .select(['known_words.word', 'known_words.spaces'])
      .distinct()
      .where('deletion', 'in', Object.values(texts)),
);

/**
 * The known word that `word` was most likely meant to be: the fewest edits away (a letter left out, added, changed,
 * or two neighbours swapped), among those the one in most spaces, then the first by code point; undefined without one.
 */
export async function correctWord(engine: Engine, word: string): Promise<string | undefined> {
  if (!isCorrectable(word)) return undefined;
  const most = tolerance(word);
  const texts = deletions(word, most);
  // Padded to a fixed length so that the prepared statement is reused.
  const candidates = await findSimilar(
    engine,
    Array.from({ length: MAX_DELETIONS }, (_, i) => texts[i] ?? word),
  );
  const letters = [...word];
  return candidates
    .map((candidate) => ({
      ...candidate,
      distance: editDistance(letters, [...candidate.word], most),
    }))
    .filter(({ distance }) => distance <= most)
    .sort((a, b) => a.distance - b.distance || b.spaces - a.spaces || (a.word < b.word ? -1 : 1))
    .at(0)?.word;
}

/** A known word may be met by a query that is up to two letters longer or shorter than it. */
function deletionsOf(id: number, word: string): KnownWordDeletions[] {
  const reach = [...word].length >= LONG - 2 ? 2 : 1;
  return deletions(word, reach).map((deletion) => ({ deletion, word: id }));
}

/** The word's first letters, with 0 to `count` of them left out. */
function deletions(word: string, count: number): string[] {
  let level = new Set([[...word].slice(0, PREFIX).join('')]);
  const all = new Set(level);
  for (let i = 0; i < count; i += 1) {
    const next = new Set<string>();
    for (const text of level) {
      const letters = [...text];
      for (const j of letters.keys()) next.add(letters.toSpliced(j, 1).join(''));
    }
    for (const text of next) all.add(text);
    level = next;
  }
  return [...all];
}

/**
 * The optimal string alignment distance: swapping two neighbours counts as one edit. Infinity if it is more than
 * `most`, which is found out sooner than how much it is.
 */
export function editDistance(
  left: readonly string[],
  right: readonly string[],
  most: number,
): number {
  if (Math.abs(left.length - right.length) > most) return Infinity;
  let [beforeLast, last]: [number[], number[]] = [
    [],
    Array.from({ length: right.length + 1 }, (_, j) => j),
  ];
  for (const [i, letter] of left.entries()) {
    const row = [i + 1];
    let least = i + 1;
    for (let j = 0; j < right.length; j += 1) {
      const cost = letter === right[j] ? 0 : 1;
      let distance = Math.min(
        (last[j + 1] as number) + 1,
        (row[j] as number) + 1,
        (last[j] as number) + cost,
      );
      if (i > 0 && j > 0 && letter === right[j - 1] && left[i - 1] === right[j]) {
        distance = Math.min(distance, (beforeLast[j - 1] as number) + 1);
      }
      row.push(distance);
      least = Math.min(least, distance);
    }
    if (least > most) return Infinity;
    [beforeLast, last] = [last, row];
  }
  const distance = last[right.length] as number;
  return distance > most ? Infinity : distance;
}
