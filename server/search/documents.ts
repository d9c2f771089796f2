import type { Database, Engine } from '../database/engine.ts';
import { prepareRead, prepareWrite } from '../database/prepared.ts';
import { forgetWords, learnWords } from './correction.ts';
import { fragmentsOf, readFragments } from './results.ts';
import { nextRevision } from './revision.ts';
import { indexWords, titleKey } from './words/tokenize.ts';

/**
 * Returns a space's position in the order of every search, as one ascending number: popular spaces first, in logarithmic
 * steps so that a join seldom moves a space; then the newest. Indexes are ordered by this key, so a page is a range.
 */
export function documentKey(spacePk: number, participants: number): number {
  // Multiplied instead of shifted, because JavaScript's shifts have 32 bits.
  return popularityStep(participants) * 2 ** 32 + (2 ** 32 - 1 - spacePk);
}

/** Returns 40 for no participants, down to 0 for a million and more. */
function popularityStep(participants: number): number {
  return Math.max(0, 40 - Math.floor(2 * Math.log2(1 + participants)));
}

/** Updates the indexes for one space. Call it in the transaction that changes the space, after the change. */
export async function indexSpace(engine: Engine, db: Database, spacePk: number): Promise<void> {
  const document = await writeDocument(engine, db, spacePk);
  if (!document) return;
  await engine.text.add(db, document.key, document.words);
  await learnWords(
    engine,
    db,
    document.words.all.map((word) => [word, 1]),
  );
}

const readSpace = prepareRead({ spacePk: 'bigint' }, ({ db }, { spacePk }) =>
  db
    .selectFrom('spaces')
    .select(['space_id', 'creator_pk', 'title', 'description', 'visibility', 'participant_count'])
    .where('pk', '=', spacePk),
);

const readTagNumbers = prepareRead({ spacePk: 'bigint' }, ({ db }, { spacePk }) =>
  db
    .selectFrom('space_tags')
    .select(['tag_id', 'tag_name'])
    .where('space_pk', '=', spacePk)
    .orderBy('position'),
);

const insertDocument = prepareWrite(
  {
    key: 'bigint',
    space_pk: 'bigint',
    creator_pk: 'bigint',
    participant_count: 'bigint',
    title_key: 'text',
    head: 'text',
    tail: 'text',
  },
  ({ db }, row) => db.insertInto('public_spaces').values({ ...row, revision: nextRevision }),
);

const insertTagHit = prepareWrite({ tag_id: 'bigint', key: 'bigint' }, ({ db }, row) =>
  db.insertInto('tag_hits').values(row),
);

interface IndexedDocument {
  key: number;
  words: { title: string[]; all: string[] };
}

/** Updates the indexes except for the words, which it returns; undefined if the space is not public. */
async function writeDocument(
  engine: Engine,
  db: Database,
  spacePk: number,
): Promise<IndexedDocument | undefined> {
  await unindexSpace(engine, db, spacePk);
  const [row] = await readSpace(engine, { spacePk }, db);
  if (row?.visibility !== 'public') return undefined;

  const { creator_pk, participant_count } = row;
  const key = documentKey(spacePk, participant_count);
  const tags = await readTagNumbers(engine, { spacePk }, db);
  const document = {
    key,
    space_pk: spacePk,
    creator_pk,
    participant_count,
    title_key: titleKey(row.title),
  };
  await insertDocument(engine, { ...document, ...fragmentsOf(row, tags) }, db);
  for (const { tag_id } of tags) await insertTagHit(engine, { tag_id, key }, db);
  return { key, words: wordsOf(row) };
}

/** Number of documents written before their words: a word index buffers words until another table is written. */
const BATCH_SIZE = 10_000;

/**
 * Updates the indexes for many spaces, in the order of their keys: word indexes write ascending keys at once, but others
 * piece by piece. Learns each word once.
 */
export async function indexSpaces(
  engine: Engine,
  db: Database,
  spacePks: readonly number[],
): Promise<void> {
  const keyed: { spacePk: number; key: number }[] = [];
  for (const spacePk of spacePks) {
    const [row] = await readSpace(engine, { spacePk }, db);
    if (row) keyed.push({ spacePk, key: documentKey(spacePk, row.participant_count) });
  }
  keyed.sort((a, b) => a.key - b.key);
  const documents = new Map<string, number>();
  for (let i = 0; i < keyed.length; i += BATCH_SIZE) {
    const written: IndexedDocument[] = [];
    for (const { spacePk } of keyed.slice(i, i + BATCH_SIZE)) {
      const document = await writeDocument(engine, db, spacePk);
      if (document) written.push(document);
    }
    for (const { key, words } of written) {
      await engine.text.add(db, key, words);
      for (const word of words.all) documents.set(word, (documents.get(word) ?? 0) + 1);
    }
  }
  await learnWords(engine, db, documents);
}

const readDocument = prepareRead({ spacePk: 'bigint' }, ({ db }, { spacePk }) =>
  db.selectFrom('public_spaces').select(['key', 'head', 'tail']).where('space_pk', '=', spacePk),
);

/** Removes a space from the indexes if it is there. */
export async function unindexSpace(engine: Engine, db: Database, spacePk: number): Promise<void> {
  const [row] = await readDocument(engine, { spacePk }, db);
  if (!row) return;
  await db.deleteFrom('public_spaces').where('key', '=', row.key).execute();
  const indexed = readFragments(row);
  await engine.text.remove(db, row.key);
  await forgetWords(db, wordsOf(indexed).all);
  const tags = indexed.tags.map(({ tag_id }) => tag_id);
  if (tags.length > 0) {
    await db
      .deleteFrom('tag_hits')
      .where('key', '=', row.key)
      .where('tag_id', 'in', tags)
      .execute();
  }
}

/** Moves a space in the indexes if its number of participants has reached another step. */
export async function moveSpace(engine: Engine, db: Database, spacePk: number): Promise<void> {
  const row = await db
    .selectFrom('public_spaces')
    .select(['key', 'head', 'tail', 'participant_count'])
    .where('space_pk', '=', spacePk)
    .executeTakeFirst();
  if (!row) return;
  const key = documentKey(spacePk, row.participant_count);
  if (key === row.key) return;
  const indexed = readFragments(row);
  // A space that moves down gets a new revision, so that no walk through the pages meets it twice.
  const change = key > row.key ? { key, revision: nextRevision } : { key };
  await db.updateTable('public_spaces').set(change).where('key', '=', row.key).execute();
  const tags = indexed.tags.map(({ tag_id }) => tag_id);
  if (tags.length > 0) {
    await db
      .updateTable('tag_hits')
      .set({ key })
      .where('key', '=', row.key)
      .where('tag_id', 'in', tags)
      .execute();
  }
  await engine.text.remove(db, row.key);
  await engine.text.add(db, key, wordsOf(indexed));
}

function wordsOf({ title, description }: { title: string; description: string }) {
  const inTitle = indexWords(title);
  return { title: inTitle, all: [...new Set([...inTitle, ...indexWords(description)])] };
}
