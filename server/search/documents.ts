import type { Database, Engine, IndexableSpace } from '../database/engine.ts';
import { isLiveSpace } from '../database/erased-rows.ts';
import { columnOf, prepareForRows } from '../database/prepared.ts';
import { CURRENT_REVISION, documentOf, indexer, insertRows } from './document-rows.ts';
import { documentKey } from './order.ts';
import { readFragments } from './results.ts';
import { currentRevision } from './revision.ts';
import { addTagChanges, changeTagCounts, type TagCountChanges } from './tag-counts.ts';

/**
 * Updates the search index for spaces, or records that it must be updated. Call it in the transaction that changes the
 * spaces, after the change.
 */
export async function indexSpaces(
  engine: Pick<Engine, 'searchIndex' | 'wordIndex'>,
  trx: Database,
  spacePks: readonly number[],
): Promise<void> {
  if (engine.searchIndex.record) {
    await engine.searchIndex.record(trx, { spacePks, omit: true });
    return;
  }
  const spaces = await indexer.readSpaces(trx, spacePks);
  await indexer.replaceSpaces(engine, trx, spacePks, spaces, () => CURRENT_REVISION);
}

/** Updates the search index for a space that the current transaction has created. Unlike `indexSpaces`, reads nothing. */
export async function indexNewSpace(
  engine: Engine,
  trx: Database,
  space: IndexableSpace,
): Promise<void> {
  if (engine.searchIndex.record) {
    await engine.searchIndex.record(trx, { spacePks: [space.pk], omit: true });
    return;
  }
  const tagChanges: TagCountChanges = new Map();
  const added = await insertRows(trx, [space], () => CURRENT_REVISION, tagChanges);
  await changeTagCounts(trx, tagChanges);
  await engine.wordIndex.add(trx, added);
}

/**
 * Moves a public space in the search index if its participant count has reached another popularity step.
 * @param delta by how much the transaction has changed the count
 */
export async function moveSpace(
  engine: Engine,
  db: Database,
  { pk: spacePk, participant_count }: { pk: number; participant_count: number },
  delta: number,
): Promise<void> {
  if (engine.searchIndex.record) {
    const isDown =
      documentKey(spacePk, participant_count) > documentKey(spacePk, participant_count - delta);
    await engine.searchIndex.record(db, { spacePks: [spacePk], omit: isDown });
    return;
  }
  await moveDocument(engine, db, spacePk);
}

/** Moves the entry of a space if the participant count in it has reached another popularity step. */
export async function moveDocument(engine: Engine, db: Database, spacePk: number): Promise<void> {
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
  await engine.wordIndex.remove(db, [row.key]);
  await engine.wordIndex.add(db, [documentOf(indexed, key)]);
}

/**
 * Removes deleted spaces from all results, and adds them to `erased_spaces`. The words of an index in the same database
 * are removed later.
 */
export async function hideDocuments(
  { searchIndex }: Engine,
  trx: Database,
  column: 'pk' | 'creator_pk',
  value: number,
): Promise<void> {
  if (searchIndex.record) {
    const spaces = await trx
      .selectFrom('spaces')
      .select('pk')
      .where(column, '=', value)
      .where(isLiveSpace('pk'))
      .execute();
    const spacePks = spaces.map(({ pk }) => pk);
    await enqueueErasures(
      trx,
      spacePks.map((space_pk) => ({ space_pk })),
    );
    // Copies of the index hide the spaces of deleted users by themselves.
    if (column === 'pk') await searchIndex.record(trx, { spacePks, omit: true });
    return;
  }
  const tags = await trx
    .selectFrom('spaces')
    .innerJoin('public_spaces', 'public_spaces.space_pk', 'spaces.pk')
    .innerJoin('space_tags', 'space_tags.space_pk', 'spaces.pk')
    .select('space_tags.tag_id')
    .where(`spaces.${column}`, '=', value)
    .execute();
  await trx
    .insertInto('erased_spaces')
    .columns(['space_pk', 'key'])
    .expression((from) =>
      from
        .selectFrom('spaces')
        .leftJoin('public_spaces', 'public_spaces.space_pk', 'spaces.pk')
        .select(['spaces.pk', 'public_spaces.key'])
        .where(`spaces.${column}`, '=', value),
    )
    // A space may be enqueued already: deleted by a concurrent request, or before the account of its creator.
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  await trx
    .deleteFrom('public_spaces')
    .where('space_pk', 'in', (from) => from.selectFrom('erased_spaces').select('space_pk'))
    .execute();
  const tagChanges: TagCountChanges = new Map();
  addTagChanges(tagChanges, columnOf(tags, 'tag_id'), -1);
  await changeTagCounts(trx, tagChanges);
}

const enqueueErasures = prepareForRows({ space_pk: 'bigint' }, (db, rows) =>
  db.insertInto('erased_spaces').columns(['space_pk']).values(rows),
);
