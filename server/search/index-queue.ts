import type { Database, IndexEngine } from '../database/engine.ts';
import { isLiveSpace } from '../database/erased-rows.ts';
import { columnOf, prepareForRows } from '../database/prepared.ts';
import { CURRENT_REVISION, indexer, replaceRows } from './document-rows.ts';
import { documentKey } from './order.ts';
import { changeTagCounts, type TagCountChanges } from './tag-counts.ts';

/**
 * Number of spaces that `addQueuedSpaces` adds at once. The words of a batch are added after all its other writes,
 * because FTS5 keeps new words in memory only until another table is written.
 */
const INDEX_BATCH_SIZE = 5_000;

const insertQueuedSpaces = prepareForRows({ space_pk: 'bigint' }, (db, rows) =>
  db
    .insertInto('spaces_to_index')
    .columns(['space_pk'])
    .values(rows)
    .onConflict((conflict) => conflict.doNothing()),
);

/** Enqueues spaces to index. The queue is a table, because an import may change millions of spaces. */
export async function enqueueSpaces(db: Database, spacePks: readonly number[]): Promise<void> {
  const rows = Array.from(new Set(spacePks), (space_pk) => ({ space_pk }));
  await insertQueuedSpaces(db, rows);
}

/** Replaces the queue by all public spaces. */
export async function enqueuePublicSpaces(db: Database): Promise<void> {
  await db.deleteFrom('spaces_to_index').execute();
  await db
    .insertInto('spaces_to_index')
    .columns(['space_pk'])
    .expression((from) =>
      from
        .selectFrom('spaces')
        .select('pk')
        .where('visibility', '=', 'public')
        .where(isLiveSpace('pk')),
    )
    .execute();
}

/** Empties the queue. Returns the `space_pk` of its spaces. */
export async function takeQueuedSpaces(db: Database): Promise<number[]> {
  const queued = await db.deleteFrom('spaces_to_index').returning('space_pk').execute();
  return columnOf(queued, 'space_pk');
}

/**
 * Updates the search index for all queued spaces, and empties the queue. Processes them in the order of their keys,
 * because the word index writes ascending keys faster.
 * @param onProgress called with the number of spaces so far, after each batch
 * @returns the number of spaces
 */
export async function addQueuedSpaces(
  { wordIndex }: Pick<IndexEngine, 'wordIndex'>,
  db: Database,
  onProgress: (spaces: number) => void = () => {},
): Promise<number> {
  await computeQueuedKeys(db);
  let spaces = 0;
  // Applied at the end, because most batches change the count of a frequent tag.
  const tagChanges: TagCountChanges = new Map();
  for (let after = -1; ; ) {
    const batch = await db
      .selectFrom('spaces_to_index')
      .select(['space_pk', 'key'])
      .where('key', '>', after)
      .orderBy('key')
      .limit(INDEX_BATCH_SIZE)
      .execute();
    const last = batch.at(-1);
    if (!last) break;
    after = last.key as number;
    const spacePks = columnOf(batch, 'space_pk');
    const indexable = await indexer.readSpaces(db, spacePks);
    const revision = () => CURRENT_REVISION;
    const { removed, added } = await replaceRows(db, spacePks, indexable, revision, tagChanges);
    await wordIndex.remove(db, removed);
    await wordIndex.add(db, added);
    spaces += batch.length;
    onProgress(spaces);
  }
  await db.deleteFrom('spaces_to_index').execute();
  await changeTagCounts(db, tagChanges);
  return spaces;
}

const updateQueuedKeys = prepareForRows({ space_pk: 'bigint', key: 'bigint' }, (db, rows) =>
  db
    .insertInto('spaces_to_index')
    .values(rows)
    .onConflict((conflict) =>
      conflict.column('space_pk').doUpdateSet(({ ref }) => ({ key: ref('excluded.key') })),
    ),
);

/** Sets the keys of all queued spaces. They depend on the final participant counts. */
async function computeQueuedKeys(db: Database): Promise<void> {
  for (let after = 0; ; ) {
    const batch = await db
      .selectFrom('spaces_to_index')
      .innerJoin('spaces', 'spaces.pk', 'space_pk')
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
    await updateQueuedKeys(db, keys);
  }
}
