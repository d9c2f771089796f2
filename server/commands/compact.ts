import { eraseDeletedRows } from '../account-lifecycle/erasure.ts';
import { describeTarget, withConfig } from '../command-line/on-database.ts';
import type { Config } from '../config.ts';
import { databaseKind, openDatabase } from '../database/open.ts';
import { transactAlone } from '../database/transaction.ts';
import { refreshDictionary } from '../search/dictionary/dictionary.ts';

export const compact = withConfig(async (config, _, { console }) => {
  const kind = await databaseKind(config);
  // `compact` refuses a database on a server.
  if (config.databaseUrl === null) {
    // It empties a damaged search index, which would prevent the rest.
    const { data } = await kind.check(config);
    if (data.length > 0) {
      await kind.compact(config);
      await kind.check(config);
    }
    await removeDeletedContent(config);
  }
  await kind.compact(config);
  console.error(
    `The database has been compacted. Its files contain no deleted data. ${describeTarget(config)}`,
  );
});

/**
 * Deletes what the compacted file would otherwise contain: the remaining rows of deleted spaces and accounts, and the
 * words of deleted and edited spaces.
 */
async function removeDeletedContent(config: Config): Promise<void> {
  await using engine = await openDatabase(config, { purpose: 'command' });
  do {
    while (!(await eraseDeletedRows(engine)));
    await transactAlone(engine, (trx) => engine.wordIndex.optimize(trx));
    // A space that a running service deletes meanwhile can prevent the refresh.
  } while (!(await refreshDictionary(engine)));
}
