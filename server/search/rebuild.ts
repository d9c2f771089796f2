import type { Engine } from '../database/engine.ts';
import { transact } from '../database/transaction.ts';
import { refreshDictionary } from './dictionary/dictionary.ts';
import { indexQueuedSpaces } from './index-queue.ts';
import { updateTagKeys } from './tag-keys.ts';

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
