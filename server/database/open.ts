import { accessSync, constants, existsSync } from 'node:fs';
import type { Engine } from './engine.ts';
import { codeOf } from './error-code.ts';
import type { DatabaseKind, Location, OpenOptions } from './kind.ts';
import { databaseFile, lockFile } from './sqlite/location.ts';

export { isBackup, isDatabaseFile } from './sqlite/copy-mark.ts';

/** Returns the kind of the configured database. Loads only the modules of this kind. */
export async function databaseKind({ databaseUrl }: Location): Promise<DatabaseKind> {
  if (databaseUrl) return (await import('./postgresql/database.ts')).postgresql;
  return (await import('./sqlite/database.ts')).sqlite;
}

/** Returns the state of the configured database for the log. Does not open it. */
export function describeDatabase(
  location: Location,
): 'found' | 'new' | 'unreadable' | 'postgresql' {
  if (location.databaseUrl) return 'postgresql';
  try {
    accessSync(databaseFile(location), constants.R_OK);
    return 'found';
  } catch (error) {
    return /^(ENOENT|ENOTDIR)$/.test(codeOf(error)) ? 'new' : 'unreadable';
  }
}

/** Whether a server or an import has used a folder for a SQLite database. With PostgreSQL, it has no lock file. */
export function isDataFolder(dataDir: string): boolean {
  return existsSync(lockFile({ dataDir }));
}

/**
 * Opens the configured database, see `OpenOptions.purpose`.
 * @throws OperatorError if it cannot be used, belongs to another version or another program, or is locked by another
 *   server or an import
 */
export async function openDatabase(location: Location, options: OpenOptions = {}): Promise<Engine> {
  return (await databaseKind(location)).open(location, options);
}
