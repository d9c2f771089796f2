import { sql } from 'kysely';
import type { Database } from '../database/engine.ts';
import { isCorrectable } from './words.ts';

/**
 * Corrections after SymSpell (Wolf Garbe, 2012): two words within an edit distance of d share a text that is each of
 * them with at most d letters left out. Keeping such texts of every known word turns the search for similar words
 * into a few look-ups. Only a word's first letters are taken, which bounds the number of texts; the candidates'
 * true distance is measured.
 */
const PREFIX = 7;

/** Words of eight letters and more may be two edits away. */
const LONG = 8;

/** How many edits a word may be away from what is meant: 2 for long words, else 1. */
function tolerance(word: string): number {
  return [...word].length >= LONG ? 2 : 1;
}

/** Makes the words of new documents known: each word with the number of documents that hold it. */
export async function learnWords(
  db: Database,
  words: Iterable<readonly [word: string, documents: number]>,
): Promise<void> {
  for (const [word, documents] of words) {
    if (!isCorrectable(word)) continue;
    const { id, spaces } = await db
      .insertInto('known_words')
      .values({ word, spaces: documents })
      .onConflict((conflict) =>
        conflict.column('word').doUpdateSet({ spaces: sql`known_words.spaces + ${documents}` }),
      )
      .returning(['id', 'spaces'])
      .executeTakeFirstOrThrow();
    const isNew = spaces === documents;
    if (!isNew) continue;
    await db
      .insertInto('known_word_deletions')
      .values(deletions(word, reach(word)).map((deletion) => ({ deletion, word: id })))
      .execute();
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
  await db.deleteFrom('known_words').where('word', 'in', known).where('spaces', '=', 0).execute();
}

/**
 * The known word that `word` was most likely meant to be: the fewest edits away (a letter left out, added, changed,
 * or two neighbours swapped), among those the one in most spaces, then the first by code point; undefined without one.
 */
export async function correctWord(db: Database, word: string): Promise<string | undefined> {
  if (!isCorrectable(word)) return undefined;
  const most = tolerance(word);
  const candidates = await db
    .selectFrom('known_word_deletions')
    .innerJoin('known_words', 'known_words.id', 'known_word_deletions.word')
    .select(['known_words.word', 'known_words.spaces'])
    .distinct()
    .where('deletion', 'in', deletions(word, most))
    .execute();
  return candidates
    .map((candidate) => ({ ...candidate, distance: editDistance(word, candidate.word) }))
    .filter(({ distance }) => distance <= most)
    .sort((a, b) => a.distance - b.distance || b.spaces - a.spaces || (a.word < b.word ? -1 : 1))
    .at(0)?.word;
}

/** A known word may be met by a query that is up to two letters longer or shorter than it. */
function reach(word: string): number {
  return [...word].length >= LONG - 2 ? 2 : 1;
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

/** The optimal string alignment distance: swapping two neighbours counts as one edit. */
export function editDistance(a: string, b: string): number {
  const [left, right] = [[...a], [...b]];
  let [beforeLast, last]: [number[], number[]] = [
    [],
    Array.from({ length: right.length + 1 }, (_, j) => j),
  ];
  for (const [i, letter] of left.entries()) {
    const row = [i + 1];
    for (const [j, other] of right.entries()) {
      const cost = letter === other ? 0 : 1;
      let distance = Math.min(
        (last[j + 1] as number) + 1,
        (row[j] as number) + 1,
        (last[j] as number) + cost,
      );
      if (i > 0 && j > 0 && letter === right[j - 1] && left[i - 1] === other) {
        distance = Math.min(distance, (beforeLast[j - 1] as number) + 1);
      }
      row.push(distance);
    }
    [beforeLast, last] = [last, row];
  }
  return last[right.length] as number;
}
