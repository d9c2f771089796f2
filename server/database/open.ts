import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config.ts';
import type { Engine } from './engine.ts';
import { openSqlite } from './sqlite/engine.ts';

/**
 * Opens the database that the settings name, migrated to this version.
 * @param maintains whether this process keeps the database's files in order: it should be one process a database
 */
export async function openDatabase(
  { dataDir }: Pick<Config, 'dataDir'>,
  { maintains = true }: { maintains?: boolean } = {},
): Promise<Engine> {
  await mkdir(dataDir, { recursive: true });
  return openSqlite(join(dataDir, 'space-service.sqlite'), maintains);
}
