import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Engine } from '../../server/database/engine.ts';
import { openDatabase } from '../../server/database/open.ts';
import { exportRecords } from '../../server/import-export/export.ts';
import { indexer } from '../../server/search/document-rows.ts';
import { createTestDatabase } from '../support/databases.ts';

/** Creates empty databases of the kind that the tests run on. */
export interface EmptyDatabases extends AsyncDisposable {
  open(): Promise<Engine>;
}

export async function prepareDatabases(): Promise<EmptyDatabases> {
  await using cleanup = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'exchange-'));
  cleanup.defer(() => rm(folder, { recursive: true }));
  const template = join(folder, 'template');
  // Copied, because each migration of a new SQLite file takes a large part of a second.
  await (await openDatabase({ dataDir: template }, { runsMaintenance: false })).close();
  const databases = cleanup.move();
  let count = 0;
  return {
    async open() {
      const dataDir = join(folder, String(++count));
      await cp(template, dataDir, { recursive: true });
      const { settings } = databases.use(await createTestDatabase());
      return openDatabase(
        { dataDir, databaseUrl: settings.DATABASE_URL ?? null },
        { runsMaintenance: false, indexer },
      );
    },
    [Symbol.asyncDispose]: () => databases.disposeAsync(),
  };
}

export async function exportLines(engine: Engine): Promise<string[]> {
  const lines: string[] = [];
  await exportRecords(engine, async (record) => void lines.push(JSON.stringify(record)));
  return lines;
}
