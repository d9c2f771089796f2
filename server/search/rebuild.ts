import type { Database, Engine } from '../database/engine.ts';
import { isLiveSpace } from '../database/erased-rows.ts';
import { transactAlone } from '../database/transaction.ts';
import { refreshDictionary } from './dictionary/dictionary.ts';
import { indexQueuedSpaces } from './index-queue.ts';
import { INDEX_VERSION } from './results.ts';
import { updateTagKeys } from './tag-keys.ts';

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
    if (engine.searchIndex.record) {
      // Each copy of the index is built again, because its version differs, too.
      await updateTagKeys(trx);
      await trx.updateTable('search_index').set({ version: INDEX_VERSION }).execute();
      return false;
    }
    await engine.wordIndex.clear(trx);
    await trx.deleteFrom('tag_prefixes').execute();
    await trx.deleteFrom('tag_counts').execute();
    await trx.deleteFrom('tag_hits').execute();
    await trx.deleteFrom('public_spaces').execute();
    await trx.deleteFrom('spaces_to_index').execute();
    await updateTagKeys(trx);
    // Deleted spaces whose rows remain have no words to remove any more.
    await trx.updateTable('erased_spaces').set({ key: null }).execute();
    await trx
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
