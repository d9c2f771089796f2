import { sql } from 'kysely';
import type { Database, DocumentChanges, Engine, IndexedDocument } from '../database/engine.ts';
import { prepareReadMany, prepareWriteMany } from '../database/prepared.ts';
import { transactAlone } from '../database/transaction.ts';
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
  const { removed, added } = await writeDocuments(engine, db, [spacePk]);
  if (removed.length > 0) await engine.wordIndex.remove(db, removed);
  if (added.length > 0) await engine.wordIndex.add(db, added);
}

const readSpaces = prepareReadMany({ pk: 'bigint' }, ({ db }, rows) =>
  db
    .selectFrom('spaces')
    .innerJoin('users', 'users.pk', 'spaces.creator_pk')
    .select([
      'spaces.pk',
      'spaces.space_id',
      'spaces.creator_pk',
      'spaces.title',
      'spaces.description',
      'spaces.visibility',
      'spaces.participant_count',
      'users.suspended_at',
    ])
    .where(
      'spaces.pk',
      'in',
      rows.map(({ pk }) => pk),
    ),
);

const readTagsOfSpaces = prepareReadMany({ pk: 'bigint' }, ({ db }, rows) =>
  db
    .selectFrom('space_tags')
    .select(['space_pk', 'tag_id', 'tag_name'])
    .where(
      'space_pk',
      'in',
      rows.map(({ pk }) => pk),
    )
    .orderBy('space_pk')
    .orderBy('position'),
);

const insertDocuments = prepareWriteMany(
  {
    key: 'bigint',
    space_pk: 'bigint',
    creator_pk: 'bigint',
    participant_count: 'bigint',
    title_key: 'text',
    head: 'text',
    tail: 'text',
  },
  ({ db }, rows) =>
    db
      .insertInto('public_spaces')
      .values(rows.map((row) => ({ ...row, revision: currentRevision }))),
);

const insertTagHits = prepareWriteMany({ tag_id: 'bigint', key: 'bigint' }, ({ db }, rows) =>
  db.insertInto('tag_hits').values(rows),
);

/**
 * Removes spaces from the search index and adds them again, except in the word index. Returns the changes to make
 * there. Spaces that are not public, and those of suspended creators, are not added.
 */
async function writeDocuments(
  engine: Engine,
  db: Database,
  spacePks: readonly number[],
): Promise<DocumentChanges> {
  const removed = await deleteRows(engine, db, spacePks);
  const pks = spacePks.map((pk) => ({ pk }));
  const found = await readSpaces(engine, pks, db);
  const spaces = found
    .filter(({ visibility, suspended_at }) => visibility === 'public' && suspended_at === null)
    .map((row) => ({ key: documentKey(row.pk, row.participant_count), row }))
    // The tables and the word index are written faster in the order of their keys.
    .sort((a, b) => a.key - b.key);
  const tags = Map.groupBy(await readTagsOfSpaces(engine, pks, db), ({ space_pk }) => space_pk);
  const rows = spaces.map(({ key, row }) => {
    const { head, tail } = fragmentsOf(row, tags.get(row.pk) ?? []);
    return {
      key,
      space_pk: row.pk,
      creator_pk: row.creator_pk,
      participant_count: row.participant_count,
      title_key: titleKey(row.title),
      head,
      tail,
    };
  });
  await insertDocuments(engine, rows, db);
  const tagHits = spaces.flatMap(({ key, row }) =>
    (tags.get(row.pk) ?? []).map(({ tag_id }) => ({ tag_id, key })),
  );
  await insertTagHits(engine, tagHits, db);
  return { removed, added: spaces.map(({ key, row }) => documentOf(row, key)) };
}

/**
 * Number of spaces that `indexQueuedSpaces` indexes at once. It adds their words after all other writes of the batch,
 * because the word index buffers words only until another table is written.
 */
const INDEX_BATCH_SIZE = 5_000;

const insertQueuedSpaces = prepareWriteMany({ space_pk: 'bigint' }, ({ db }, rows) =>
  db
    .insertInto('spaces_to_index')
    .columns(['space_pk'])
    .values(rows)
    .onConflict((conflict) => conflict.doNothing()),
);

/** Enqueues spaces for `indexQueuedSpaces`. The queue is a table, because an import may change millions of spaces. */
export async function enqueueSpaces(
  engine: Engine,
  db: Database,
  spacePks: readonly number[],
): Promise<void> {
  const rows = Array.from(new Set(spacePks), (space_pk) => ({ space_pk }));
  await insertQueuedSpaces(engine, rows, db);
}

/**
 * Updates the search index for all queued spaces, and empties the queue. Processes them in the order of their keys,
 * because the word index writes ascending keys faster.
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
  await engine.wordIndex.changeMany(
    db,
    writeQueuedDocuments(engine, db, (count) => {
      spaces += count;
      onProgress(spaces);
    }),
  );
  return spaces;
}

/** Yields the changes of the word index for all queued spaces, and empties the queue. */
async function* writeQueuedDocuments(
  engine: Engine,
  db: Database,
  onBatch: (spaces: number) => void,
): AsyncGenerator<DocumentChanges> {
  while (true) {
    const batch = await db
      .selectFrom('spaces_to_index')
      .select(['space_pk', 'key'])
      .orderBy('key')
      .limit(INDEX_BATCH_SIZE)
      .execute();
    const last = batch.at(-1);
    if (!last) return;
    yield await writeDocuments(
      engine,
      db,
      batch.map(({ space_pk }) => space_pk),
    );
    await db.deleteFrom('spaces_to_index').where('key', '<=', last.key).execute();
    onBatch(batch.length);
  }
}

const updateQueuedKeys = prepareWriteMany({ space_pk: 'bigint', key: 'bigint' }, ({ db }, rows) =>
  db
    .insertInto('spaces_to_index')
    .values(rows)
    .onConflict((conflict) =>
      conflict.column('space_pk').doUpdateSet(({ ref }) => ({ key: ref('excluded.key') })),
    ),
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
    const keys = batch.map(({ space_pk, participant_count }) => ({
      space_pk,
      key: documentKey(space_pk, participant_count),
    }));
    await updateQueuedKeys(engine, keys, db);
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
  if (await isCurrent(engine.db)) return;
  // Of several servers that start at the same time, one rebuilds the index. The others wait for the lock.
  const isRebuilt = await transactAlone(engine, async (trx) => {
    if (await isCurrent(trx)) return false;
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
    return true;
  });
  if (isRebuilt) await refreshDictionary(engine);
}

/** Returns whether the search index has the version of this program. */
async function isCurrent(db: Database): Promise<boolean> {
  const { version } = await db
    .selectFrom('search_index')
    .select('version')
    .executeTakeFirstOrThrow();
  return version === INDEX_VERSION;
}

const deleteDocuments = prepareWriteMany({ pk: 'bigint' }, ({ db }, rows) =>
  db
    .deleteFrom('public_spaces')
    .where(
      'space_pk',
      'in',
      rows.map(({ pk }) => pk),
    )
    .returning(['key', 'head', 'tail']),
);

const deleteTagHits = prepareWriteMany({ tag_id: 'bigint', key: 'bigint' }, ({ db }, rows) => {
  const pairs = rows.map(({ tag_id, key }) => sql`(${tag_id}, ${key})`);
  return db
    .deleteFrom('tag_hits')
    .where(sql<boolean>`(tag_id, key) IN (VALUES ${sql.join(pairs)})`);
});

/**
 * Removes spaces from the search index, except from the word index. Skips those that are not indexed.
 * @returns the documents to remove from the word index
 */
async function deleteRows(
  engine: Engine,
  db: Database,
  spacePks: readonly number[],
): Promise<IndexedDocument[]> {
  const deleted = await deleteDocuments(
    engine,
    spacePks.map((pk) => ({ pk })),
    db,
  );
  const indexed = deleted.map((row) => ({ key: row.key, values: readFragments(row) }));
  const tagHits = indexed.flatMap(({ key, values }) =>
    values.tags.map(({ tag_id }) => ({ tag_id, key })),
  );
  await deleteTagHits(engine, tagHits, db);
  return indexed.map(({ key, values }) => documentOf(values, key));
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
