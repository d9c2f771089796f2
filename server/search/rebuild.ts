import type { Database, Engine } from '../database/engine.ts';
import { transactAlone } from '../database/transaction.ts';
import { INDEX_VERSION } from './results.ts';
import { updateTagKeys } from './tag-keys.ts';
import { writerOf } from './writer-of.ts';

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
    const writer = writerOf(engine);
    await writer.clear(trx);
    await updateTagKeys(trx);
    await writer.fill(trx, onProgress);
    await trx.updateTable('search_index').set({ version: INDEX_VERSION }).execute();
    return true;
  });
  if (isRebuilt) await writerOf(engine).refreshDictionary();
}

/** Returns whether the search index has the version of this program. */
async function isCurrent(db: Database): Promise<boolean> {
  const { version } = await db
    .selectFrom('search_index')
    .select('version')
    .executeTakeFirstOrThrow();
  return version === INDEX_VERSION;
}
