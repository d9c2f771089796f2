import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config.ts';
import { OperatorError } from '../errors.ts';
import type { Engine } from './engine.ts';
import { openSqlite } from './sqlite/engine.ts';
import { copyFile, rewriteFile } from './sqlite/files.ts';

type Place = Pick<Config, 'dataDir'>;

const fileIn = ({ dataDir }: Place) => join(dataDir, 'space-service.sqlite');

export function hasDatabase(place: Place): boolean {
  return existsSync(fileIn(place));
}

/**
 * Opens the database that the settings name, made if it is missing, and migrated to this version.
 * @param runsMaintenance whether this process keeps the database's files in order: it should be one process a database
 * @throws OperatorError
 */
export async function openDatabase(
  place: Place,
  { runsMaintenance = true }: { runsMaintenance?: boolean } = {},
): Promise<Engine> {
  await mkdir(place.dataDir, { recursive: true });
  return openSqlite(fileIn(place), { runsMaintenance, migrate: true });
}

/**
 * Opens the database that the settings name, as it is, beside the service that it belongs to.
 * @throws OperatorError if there is none, or one of another version
 */
export async function openExistingDatabase(place: Place): Promise<Engine> {
  return openSqlite(existingFileIn(place), { runsMaintenance: false, migrate: false });
}

/**
 * Copies the database as it is at one moment, while the service runs.
 * @param to a file that is not there, or empty
 * @throws OperatorError
 */
export function copyDatabase(place: Place, to: string): void {
  copyFile(existingFileIn(place), to);
}

/**
 * Writes the database anew, so that nothing of what was deleted is left in it. Writers wait meanwhile.
 * @throws OperatorError
 */
export function rewriteDatabase(place: Place): void {
  rewriteFile(existingFileIn(place));
}

function existingFileIn(place: Place): string {
  if (hasDatabase(place)) return fileIn(place);
  throw new OperatorError(
    `DATA_DIR=${place.dataDir} has no database. Set it to the folder of the service's data.`,
  );
}
