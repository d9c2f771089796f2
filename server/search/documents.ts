import type { Selectable } from 'kysely';
import type { Database, Engine } from '../database/engine.ts';
import { prepared } from '../database/prepared.ts';
import type { PublicSpaces, Spaces, TagHits } from '../database/schema.ts';
import { indexWords, titleKey } from '../text/words/words.ts';
import { forgetWords, learnWords } from './correction.ts';
import { fragmentsOf, readFragments } from './results.ts';
import { nextRevision } from './revision.ts';

/**
 * The order of every search, in one number: popular first, in steps of a logarithm so that a join seldom moves a
 * space; then newest. Indexes hold their rows by this key, so a page is read off from where it begins.
 */
export function documentKey(space: number, participants: number): number {
  // More than 32 bits: multiplied, since JavaScript's shifts are narrower.
  return popularityStep(participants) * 2 ** 32 + (2 ** 32 - 1 - space);
}

/** From 40 (nobody) down to 0 (a million participants and more). */
function popularityStep(participants: number): number {
  return Math.max(0, 40 - Math.floor(2 * Math.log2(1 + participants)));
}

/**
 * Brings the index in step with the space as it is stored now. To be called in the transaction that changes the
 * space, after the change.
 */
export async function indexSpace(engine: Engine, db: Database, space: number): Promise<void> {
  const document = await writeDocument(engine, db, space);
  if (!document) return;
  await engine.text.add(db, document.key, document.words);
  await learnWords(
    engine,
    db,
    document.words.all.map((word) => [word, 1]),
  );
}

const readSpace = prepared<
  { space: number },
  Pick<
    Selectable<Spaces>,
    'space_id' | 'creator' | 'title' | 'description' | 'visibility' | 'participant_count'
  >
>(({ db }, { space }) =>
  db
    .selectFrom('spaces')
    .select(['space_id', 'creator', 'title', 'description', 'visibility', 'participant_count'])
    .where('id', '=', space),
);

const readTagNumbers = prepared<{ space: number }, { tag: number; tag_name: string }>(
  ({ db }, { space }) =>
    db
      .selectFrom('space_tags')
      .select(['tag', 'tag_name'])
      .where('space', '=', space)
      .orderBy('position'),
);

const insertDocument = prepared<Omit<PublicSpaces, 'revision'>, never>(({ db }, values) =>
  db.insertInto('public_spaces').values({ ...values, revision: nextRevision }),
);

const insertTagHit = prepared<TagHits, never>(({ db }, values) =>
  db.insertInto('tag_hits').values(values),
);

interface IndexedDocument {
  key: number;
  words: { title: string[]; all: string[] };
}

/** Does what `indexSpace` does but for the words, with which it answers; undefined if the space is not public. */
async function writeDocument(
  engine: Engine,
  db: Database,
  space: number,
): Promise<IndexedDocument | undefined> {
  await unindexSpace(engine, db, space);
  const [row] = await readSpace(engine, { space }, db);
  if (row?.visibility !== 'public') return undefined;

  const { creator, participant_count } = row;
  const key = documentKey(space, participant_count);
  const tags = await readTagNumbers(engine, { space }, db);
  const document = { key, space, creator, participant_count, title_key: titleKey(row.title) };
  await insertDocument(engine, { ...document, ...fragmentsOf(row, tags) }, db);
  for (const { tag } of tags) await insertTagHit(engine, { tag, key }, db);
  return { key, words: wordsOf(row) };
}

/** So many documents are written before their words are: an index gathers words until something else is written. */
const CHUNK = 10_000;

/**
 * Brings the index in step with many spaces, as `indexSpace` does with one, but in the order of their keys, since word
 * indexes write what comes in ascending order at once and anything else piece by piece; and each word is learnt once.
 */
export async function indexSpaces(
  engine: Engine,
  db: Database,
  spaces: readonly number[],
): Promise<void> {
  const keyed: { space: number; key: number }[] = [];
  for (const space of spaces) {
    const [row] = await readSpace(engine, { space }, db);
    if (row) keyed.push({ space, key: documentKey(space, row.participant_count) });
  }
  keyed.sort((a, b) => a.key - b.key);
  const documents = new Map<string, number>();
  for (let i = 0; i < keyed.length; i += CHUNK) {
    const written: IndexedDocument[] = [];
    for (const { space } of keyed.slice(i, i + CHUNK)) {
      const document = await writeDocument(engine, db, space);
      if (document) written.push(document);
    }
    for (const { key, words } of written) {
      await engine.text.add(db, key, words);
      for (const word of words.all) documents.set(word, (documents.get(word) ?? 0) + 1);
    }
  }
  await learnWords(engine, db, documents);
}

const readDocument = prepared<{ space: number }, { key: number; head: string; tail: string }>(
  ({ db }, { space }) =>
    db.selectFrom('public_spaces').select(['key', 'head', 'tail']).where('space', '=', space),
);

/** Takes the space out of the index, if it is there. */
export async function unindexSpace(engine: Engine, db: Database, space: number): Promise<void> {
  const [row] = await readDocument(engine, { space }, db);
  if (!row) return;
  await db.deleteFrom('public_spaces').where('key', '=', row.key).execute();
  const indexed = readFragments(row);
  await engine.text.remove(db, row.key);
  await forgetWords(db, wordsOf(indexed).all);
  const tags = indexed.tags.map(({ tag }) => tag);
  if (tags.length > 0) {
    await db.deleteFrom('tag_hits').where('key', '=', row.key).where('tag', 'in', tags).execute();
  }
}

/** Moves the space to where its number of participants puts it now. Most changes of the number move nothing. */
export async function moveSpace(engine: Engine, db: Database, space: number): Promise<void> {
  const row = await db
    .selectFrom('public_spaces')
    .select(['key', 'head', 'tail', 'participant_count'])
    .where('space', '=', space)
    .executeTakeFirst();
  if (!row) return;
  const key = documentKey(space, row.participant_count);
  if (key === row.key) return;
  const indexed = readFragments(row);
  const isLower = key > row.key;
  await db
    .updateTable('public_spaces')
    .set({ key, ...(isLower && { revision: nextRevision }) })
    .where('key', '=', row.key)
    .execute();
  const tags = indexed.tags.map(({ tag }) => tag);
  if (tags.length > 0) {
    await db
      .updateTable('tag_hits')
      .set({ key })
      .where('key', '=', row.key)
      .where('tag', 'in', tags)
      .execute();
  }
  await engine.text.remove(db, row.key);
  await engine.text.add(db, key, wordsOf(indexed));
}

function wordsOf({ title, description }: { title: string; description: string }) {
  const words = { title: indexWords(title), description: indexWords(description) };
  return { title: words.title, all: [...new Set([...words.title, ...words.description])] };
}
