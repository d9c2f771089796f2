import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Engine } from '../../server/database/engine.ts';
import { openDatabase } from '../../server/database/open.ts';
import { exportRecords } from '../../server/exchange/export.ts';
import { createTestDatabase } from '../support/databases.ts';

/** Creates empty databases of the kind that the tests run on. */
export interface EmptyDatabases extends AsyncDisposable {
  open(): Promise<Engine>;
}

export async function prepareDatabases(): Promise<EmptyDatabases> {
  const folder = await mkdtemp(join(tmpdir(), 'exchange-'));
  const template = join(folder, 'template');
  // Copied, because each migration of a new SQLite file takes a large part of a second.
  await (await openDatabase({ dataDir: template }, { runsMaintenance: false })).close();
  let databases = 0;
  return {
    async open() {
      const dataDir = join(folder, String(++databases));
      await cp(template, dataDir, { recursive: true });
      const { settings } = await createTestDatabase();
      return openDatabase(
        { dataDir, databaseUrl: settings.DATABASE_URL ?? null },
        { runsMaintenance: false },
      );
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

export async function exportLines(engine: Engine): Promise<string[]> {
  const lines: string[] = [];
  await exportRecords(engine, async (record) => void lines.push(JSON.stringify(record)));
  return lines;
}
