import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { OperatorError } from '../errors.ts';
import type { Engine } from './engine.ts';
import { compactFile, copyFile } from './sqlite/files.ts';
import { openSqlite } from './sqlite/open.ts';

/** The settings that locate the database. */
interface Location {
  dataDir: string;
}

export interface OpenOptions {
  /** Whether this process runs maintenance. Only one process per database should. */
  runsMaintenance?: boolean;
  /** URL of a module that exports `tasks`. Without it, `Engine.runTask` throws. */
  tasksModule?: URL;
}

export function hasDatabase(location: Location): boolean {
  return existsSync(databaseFile(location));
}

/**
 * Opens the configured database. Creates it if it is missing, and applies missing migrations.
 * @throws OperatorError if it cannot be used, or belongs to a newer version or another program
 */
export async function openDatabase(
  location: Location,
  { runsMaintenance = true, tasksModule }: OpenOptions = {},
): Promise<Engine> {
  await mkdir(location.dataDir, { recursive: true });
  const file = databaseFile(location);
  return openSqlite(file, { migrate: true, runsMaintenance, tasksModule });
}

/**
 * Opens the configured database for a command, also while the service runs. Does not create or migrate it.
 * @throws OperatorError if it is missing, cannot be used, or belongs to another version or another program
 */
export async function openExistingDatabase(location: Location): Promise<Engine> {
  return openSqlite(existingFile(location), { migrate: false, runsMaintenance: false });
}

/**
 * Writes a consistent copy of the configured database, also while the service runs.
 * @param target a file that is missing or empty
 * @throws OperatorError if the database is missing or cannot be copied
 */
export async function copyDatabase(location: Location, target: string): Promise<void> {
  await copyFile(existingFile(location), target);
}

/**
 * Rewrites the configured database, so that its files contain no deleted content. Writers wait until it is done.
 * @throws OperatorError if the database is missing or cannot be rewritten
 */
export async function compactDatabase(location: Location): Promise<void> {
  await compactFile(existingFile(location));
}

function databaseFile({ dataDir }: Location): string {
  return join(dataDir, 'space-service.sqlite');
}

function existingFile(location: Location): string {
  if (hasDatabase(location)) return databaseFile(location);
  throw new OperatorError(
    `DATA_DIR=${location.dataDir} has no database. Set it to the folder of the service's data.`,
  );
}
