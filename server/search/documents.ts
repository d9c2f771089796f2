import type { Database, Engine, IndexedDocument } from '../database/engine.ts';
import { prepareRead, prepareWrite } from '../database/prepared.ts';
import { transact } from '../database/transaction.ts';
import { indexWords, titleKey } from '../text/words/tokenize.ts';
import { refreshDictionary } from './dictionary/dictionary.ts';
import { documentKey } from './keys.ts';
import { fragmentsOf, readFragments } from './results.ts';
import { currentRevision } from './revision.ts';
import { sliceTerm } from './slices.ts';
import { updateTagKeys } from './tag-keys.ts';

/**
 * The search index consists of the word index and the tables `public_spaces` and `tag_hits`. A document is the entry of a
 * public space in all of them, under the same key.
 */

/** Updates the search index for one space. Call it in the transaction that changes the space, after the change. */
export async function indexSpace(engine: Engine, db: Database, spacePk: number): Promise<void> {
  const document = await writeDocument(engine, db, spacePk);
  if (!document) return;
  await engine.wordIndex.add(db, [document]);
}

const readSpace = prepareRead({ spacePk: 'bigint' }, ({ db }, { spacePk }) =>
  db
    .selectFrom('spaces')
    .innerJoin('users', 'users.pk', 'spaces.creator_pk')
    .select([
      'spaces.space_id',
      'spaces.creator_pk',
      'spaces.title',
      'spaces.description',
      'spaces.visibility',
      'spaces.participant_count',
      'users.suspended_at',
    ])
    .where('spaces.pk', '=', spacePk),
);

const readTagsOfSpace = prepareRead({ spacePk: 'bigint' }, ({ db }, { spacePk }) =>
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
  ({ db }, row) => db.insertInto('public_spaces').values({ ...row, revision: currentRevision }),
);

const insertTagHit = prepareWrite({ tag_id: 'bigint', key: 'bigint' }, ({ db }, row) =>
  db.insertInto('tag_hits').values(row),
);

/**
 * Removes a space from the search index, and adds it again except to the word index. Returns the document to add there;
 * undefined if the space is not public, or its creator is suspended.
 */
async function writeDocument(
  engine: Engine,
  db: Database,
  spacePk: number,
): Promise<IndexedDocument | undefined> {
  await unindexSpace(engine, db, spacePk);
  const [row] = await readSpace(engine, { spacePk }, db);
  if (row?.visibility !== 'public' || row.suspended_at !== null) return undefined;

  const { creator_pk, participant_count } = row;
  const key = documentKey(spacePk, participant_count);
  const tags = await readTagsOfSpace(engine, { spacePk }, db);
  const document = {
    key,
    space_pk: spacePk,
    creator_pk,
    participant_count,
    title_key: titleKey(row.title),
  };
  await insertDocument(engine, { ...document, ...fragmentsOf(row, tags) }, db);
  for (const { tag_id } of tags) await insertTagHit(engine, { tag_id, key }, db);
  return documentOf(row, key);
}

/**
 * Number of spaces that `indexQueuedSpaces` indexes at once. It adds their words after all other writes of the batch,
 * because the word index buffers words only until another table is written.
 */
const INDEX_BATCH_SIZE = 4_000;

const insertQueuedSpace = prepareWrite({ space_pk: 'bigint' }, ({ db }, row) =>
  db
    .insertInto('spaces_to_index')
    .values({ ...row, key: null })
    .onConflict((conflict) => conflict.doNothing()),
);

/** Enqueues a space for `indexQueuedSpaces`. The queue is a table, because an import may change millions of spaces. */
export async function enqueueSpace(engine: Engine, db: Database, spacePk: number): Promise<void> {
  await insertQueuedSpace(engine, { space_pk: spacePk }, db);
}

/**
 * Updates the search index for all queued spaces, and empties the queue. Processes them in the order of their keys, because the word index
 * writes ascending keys in fewer, larger steps.
 * @param onProgress called with the number of spaces so far, after each batch
 * @returns the number of spaces
 */
export async function indexQueuedSpaces(
  engine: Engine,
  db: Database,
  onProgress: (spaces: number) => void = () => {},
): Promise<number> {
  await computeQueuedKeys(engine, db);
  let spaces = 0;
  while (true) {
    const batch = await db
      .selectFrom('spaces_to_index')
      .select(['space_pk', 'key'])
      .orderBy('key')
      .limit(INDEX_BATCH_SIZE)
      .execute();
    const last = batch.at(-1);
    if (!last) return spaces;
    const documents: IndexedDocument[] = [];
    for (const { space_pk } of batch) {
      const document = await writeDocument(engine, db, space_pk);
      if (document) documents.push(document);
    }
    await engine.wordIndex.add(db, documents);
    await db.deleteFrom('spaces_to_index').where('key', '<=', last.key).execute();
    spaces += batch.length;
    onProgress(spaces);
  }
}

const updateQueuedKey = prepareWrite(
  { space_pk: 'bigint', key: 'bigint' },
  ({ db }, { space_pk, key }) =>
    db.updateTable('spaces_to_index').set({ key }).where('space_pk', '=', space_pk),
);

/** Sets the keys of all queued spaces. They depend on the final participant counts. */
async function computeQueuedKeys(engine: Engine, db: Database): Promise<void> {
  for (let after = 0; ; ) {
    const batch = await db
      .selectFrom('spaces_to_index')
      .innerJoin('spaces', 'spaces.pk', 'spaces_to_index.space_pk')
      .select(['space_pk', 'participant_count'])
      .where('space_pk', '>', after)
      .orderBy('space_pk')
      .limit(INDEX_BATCH_SIZE)
      .execute();
    const last = batch.at(-1);
    if (!last) return;
    after = last.space_pk;
    for (const { space_pk, participant_count } of batch) {
      await updateQueuedKey(
        engine,
        { space_pk, key: documentKey(space_pk, participant_count) },
        db,
      );
    }
  }
}

/** Increase it whenever the folding or splitting of words, or the stored search results, change. */
const INDEX_VERSION = 1;

/**
 * Rebuilds the search index if its version is not `INDEX_VERSION`. Call it before the first search.
 * @param onProgress called with the number of spaces so far, after each batch
 */
export async function updateSearchIndex(
  engine: Engine,
  onProgress: (spaces: number) => void = () => {},
): Promise<void> {
  const { version } = await engine.db
    .selectFrom('search_index')
    .select('version')
    .executeTakeFirstOrThrow();
  if (version === INDEX_VERSION) return;
  await transact(engine, async (trx) => {
    await engine.wordIndex.clear(trx);
    await trx.deleteFrom('tag_hits').execute();
    await trx.deleteFrom('public_spaces').execute();
    await trx.deleteFrom('spaces_to_index').execute();
    await updateTagKeys(trx);
    await trx
      .insertInto('spaces_to_index')
      .columns(['space_pk'])
      .expression((from) =>
        from.selectFrom('spaces').select('pk').where('visibility', '=', 'public'),
      )
      .execute();
    const spaces = await indexQueuedSpaces(engine, trx, onProgress);
    if (spaces > 0) await engine.wordIndex.optimize(trx);
    await trx.updateTable('search_index').set({ version: INDEX_VERSION }).execute();
  });
  await refreshDictionary(engine);
}

const readDocument = prepareRead({ spacePk: 'bigint' }, ({ db }, { spacePk }) =>
  db.selectFrom('public_spaces').select(['key', 'head', 'tail']).where('space_pk', '=', spacePk),
);

/** Removes a space from the search index. Does nothing if it is not indexed. */
export async function unindexSpace(engine: Engine, db: Database, spacePk: number): Promise<void> {
  const [row] = await readDocument(engine, { spacePk }, db);
  if (!row) return;
  await db.deleteFrom('public_spaces').where('key', '=', row.key).execute();
  const indexed = readFragments(row);
  await engine.wordIndex.remove(db, [documentOf(indexed, row.key)]);
  const tags = indexed.tags.map(({ tag_id }) => tag_id);
  if (tags.length > 0) {
    await db
      .deleteFrom('tag_hits')
      .where('key', '=', row.key)
      .where('tag_id', 'in', tags)
      .execute();
  }
}

/** Moves a space in the search index if its participant count has reached another popularity step. */
export async function moveSpace(engine: Engine, db: Database, spacePk: number): Promise<void> {
  const row = await db
    .selectFrom('public_spaces')
    .select(['key', 'head', 'tail', 'participant_count'])
    .where('space_pk', '=', spacePk)
    .executeTakeFirst();
  if (!row) return;
  // A trigger has copied the count from `spaces`.
  const key = documentKey(spacePk, row.participant_count);
  if (key === row.key) return;
  const indexed = readFragments(row);
  // A space that moves down gets a new revision, so that lists already being read omit it instead of repeating it.
  const change = key > row.key ? { key, revision: currentRevision } : { key };
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
  await engine.wordIndex.remove(db, [documentOf(indexed, row.key)]);
  await engine.wordIndex.add(db, [documentOf(indexed, key)]);
}

/** Returns what the word index contains of a space. */
export function documentOf(
  { title, description }: { title: string; description: string },
  key: number,
): IndexedDocument {
  const titleWords = indexWords(title);
  const all = new Set([...titleWords, ...indexWords(description), sliceTerm(key)]);
  return { key, words: { title: titleWords, all: [...all] } };
}
