import { type RawBuilder, sql } from 'kysely';
import type { Database, IndexableSpace, IndexEngine } from '../database/engine.ts';
import { columnOf } from '../database/prepared.ts';
import { refreshDictionary } from './dictionary/dictionary.ts';
import { CURRENT_REVISION, documentOf, indexer, insertRows } from './document-rows.ts';
import { addQueuedSpaces, enqueuePublicSpaces } from './index-queue.ts';
import type { IndexWriter } from './index-writer.ts';
import { findSpacesOf } from './live-spaces.ts';
import { documentKey } from './order.ts';
import { readFragments } from './results.ts';
import { currentRevision } from './revision.ts';
import { addTagChanges, changeTagCounts, type TagCountChanges } from './tag-counts.ts';

type WordIndexOwner = Pick<IndexEngine, 'wordIndex'>;

/** Number of spaces after whose update the word index is optimized. */
const MIN_SPACES_TO_OPTIMIZE = 1_000;

/** Number of spaces that `moveSpaceBatch` moves together. */
const MOVES_PER_BATCH = 50;

/** The writer of an index in the database itself: the transaction changes the index. */
export function ownIndex(engine: IndexEngine): IndexWriter {
  const { wordIndex } = engine;
  const indexQueuedSpaces: IndexWriter['indexQueuedSpaces'] = async (trx, onProgress) => {
    const spaces = await addQueuedSpaces(engine, trx, onProgress);
    if (spaces >= MIN_SPACES_TO_OPTIMIZE) await wordIndex.optimize(trx);
  };
  const indexSpacesOf = async (trx: Database, userPk: number) =>
    indexSpaces(engine, trx, await findSpacesOf(trx, 'creator_pk', userPk));
  return {
    indexSpaces: (trx, spacePks) => indexSpaces(engine, trx, spacePks),
    indexNewSpace: (trx, space) => indexNewSpace(engine, trx, space),
    indexQueuedSpaces,
    moveSpace: (trx, { pk }) => moveDocument(engine, trx, pk),
    moveSpacesLater,
    hideDeletedSpaces,
    // The index has no spaces of suspended users.
    hideSpacesOf: indexSpacesOf,
    restoreSpacesOf: indexSpacesOf,
    async clear(trx) {
      await wordIndex.clear(trx);
      await trx.deleteFrom('tag_prefixes').execute();
      await trx.deleteFrom('tag_counts').execute();
      await trx.deleteFrom('tag_hits').execute();
      await trx.deleteFrom('public_spaces').execute();
      // Deleted spaces whose rows remain have no words to remove any more.
      await trx.updateTable('erased_spaces').set({ key: null }).execute();
    },
    async fill(trx, onProgress) {
      await enqueuePublicSpaces(trx);
      await indexQueuedSpaces(trx, onProgress);
    },
    async refreshDictionary() {
      await refreshDictionary(engine);
    },
  };
}

async function indexSpaces(
  engine: WordIndexOwner,
  trx: Database,
  spacePks: readonly number[],
): Promise<void> {
  const spaces = await indexer.readSpaces(trx, spacePks);
  await indexer.replaceSpaces(engine, trx, spacePks, spaces, () => CURRENT_REVISION);
}

async function indexNewSpace(
  { wordIndex }: WordIndexOwner,
  trx: Database,
  space: IndexableSpace,
): Promise<void> {
  const tagChanges: TagCountChanges = new Map();
  const added = await insertRows(trx, [space], () => CURRENT_REVISION, tagChanges);
  await changeTagCounts(trx, tagChanges);
  await wordIndex.add(trx, added);
}

/** Moves the entry of a space if the participant count in it has reached another popularity step. */
async function moveDocument(
  { wordIndex }: WordIndexOwner,
  db: Database,
  spacePk: number,
): Promise<void> {
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
  await wordIndex.remove(db, [row.key]);
  await wordIndex.add(db, [documentOf(indexed, key)]);
}

/** Enqueues the spaces for `moveSpaceBatch`, because moving many takes long. */
async function moveSpacesLater(trx: Database, spacePks: RawBuilder<unknown>): Promise<void> {
  await sql`INSERT INTO spaces_to_move (space_pk) SELECT space_pk FROM public_spaces
    WHERE space_pk IN (${spacePks}) ON CONFLICT DO NOTHING`.execute(trx);
}

/** The words of the spaces are removed later. */
async function hideDeletedSpaces(
  trx: Database,
  column: 'pk' | 'creator_pk',
  value: number,
): Promise<void> {
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

/**
 * Moves a batch of spaces in the search order whose participant count a deletion has changed.
 * @returns false if there are none
 */
export async function moveSpaceBatch(engine: WordIndexOwner, trx: Database): Promise<boolean> {
  const batch = await trx
    .selectFrom('spaces_to_move')
    .select('space_pk')
    .orderBy('space_pk')
    .limit(MOVES_PER_BATCH)
    .execute();
  const last = batch.at(-1);
  if (!last) return false;
  for (const { space_pk } of batch) await moveDocument(engine, trx, space_pk);
  await trx.deleteFrom('spaces_to_move').where('space_pk', '<=', last.space_pk).execute();
  return true;
}
