import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { openDatabase } from '../../../server/database/open.ts';
import { refreshDictionary } from '../../../server/search/dictionary/dictionary.ts';

test('A refresh without changes does not read the words of the dictionary', async () => {
  await using cleanup = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), 'dictionary-'));
  cleanup.defer(() => rm(dataDir, { recursive: true }));
  const engine = cleanup.use(await openDatabase({ dataDir }, { runsMaintenance: false }));
  await refreshDictionary(engine);
  // Maintenance calls it several times per second, and the words of a million spaces take some megabytes.
  await sql`ALTER TABLE dictionary RENAME COLUMN trie TO words`.execute(engine.db);
  await expect(refreshDictionary(engine)).resolves.toBeUndefined();
});
