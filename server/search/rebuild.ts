import type { Database, Engine } from '../database/engine.ts';
import { columnOf } from '../database/prepared.ts';
import { transact, transactAlone } from '../database/transaction.ts';
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

/** Number of spaces that `fillIndex` adds in one transaction, in about 100 ms. */
const SPACES_PER_STEP = 250;

/** See `Tasks.fillIndex`. */
export async function fillIndex(engine: Engine): Promise<boolean> {
  if (await isCurrent(engine.db)) return false;
  return transact(engine, async (trx) => {
    const queued = await trx
      .selectFrom('spaces_to_index')
      .select('space_pk')
      .orderBy('space_pk')
      .limit(SPACES_PER_STEP)
      .execute();
    const spacePks = columnOf(queued, 'space_pk');
    const last = spacePks.at(-1);
    if (last === undefined) {
      await trx.updateTable('search_index').set({ version: INDEX_VERSION }).execute();
      return false;
    }
    await writerOf(engine).indexSpaces(trx, spacePks);
    await trx.deleteFrom('spaces_to_index').where('space_pk', '<=', last).execute();
    return true;
  });
}

/** Returns whether the search index has the version of this program. */
async function isCurrent(db: Database): Promise<boolean> {
  const { version } = await db
    .selectFrom('search_index')
    .select('version')
    .executeTakeFirstOrThrow();
  return version === INDEX_VERSION;
}
