import { accessSync, constants, existsSync } from 'node:fs';
import type { Engine } from './engine.ts';
import { codeOf } from './error-code.ts';
import type { DatabaseKind, Location, OpenOptions, StopDeadline } from './kind.ts';
import type { RateLimitStore } from './rate-limit-store.ts';
import { databaseFile, lockFile } from './sqlite/location.ts';

export { isBackup, isDatabaseFile } from './sqlite/copy-mark.ts';

/** Returns the kind of the configured database. Loads only the modules of this kind. */
async function kindOf({ databaseUrl }: Location): Promise<DatabaseKind> {
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

/** @throws OperatorError if the data folder has no database */
export async function assertDatabaseExists(location: Location): Promise<void> {
  (await kindOf(location)).assertExists(location);
}

/** Whether a server or an import has used a folder for a SQLite database. With PostgreSQL, it has no lock file. */
export function isDataFolder(dataDir: string): boolean {
  return existsSync(lockFile({ dataDir }));
}

/**
 * Opens the configured database. Creates it if it is missing, and applies missing migrations.
 * @throws OperatorError if it cannot be used, belongs to a newer version or another program, or is locked by another
 *   server or an import
 */
export async function openDatabase(location: Location, options: OpenOptions = {}): Promise<Engine> {
  return (await kindOf(location)).open(location, options);
}

/**
 * Opens the configured database for an import, like `openDatabase` but without maintenance. Several imports can run at
 * the same time.
 * @throws OperatorError also if a server uses the SQLite file
 */
export async function openDatabaseForImport(location: Location): Promise<Engine> {
  return (await kindOf(location)).openForImport(location);
}

/**
 * Opens the configured database for a command, also while the service runs. Does not create or migrate it.
 * @throws OperatorError if it is missing, cannot be used, or belongs to another version or another program
 */
export async function openExistingDatabase(location: Location): Promise<Engine> {
  return (await kindOf(location)).openExisting(location);
}

/**
 * Writes a consistent copy of the configured database, also while the service runs.
 * @param target a file that is missing or empty
 * @throws OperatorError if the database is missing or empty, belongs to another program, cannot be copied or is on a
 *   PostgreSQL server
 */
export async function copyDatabase(location: Location, target: string): Promise<void> {
  await (await kindOf(location)).copy(location, target);
}

/**
 * Rewrites the configured database, so that its files contain no deleted content. Writers wait until it is done.
 * @throws OperatorError if the database is missing, cannot be rewritten or is on a PostgreSQL server
 */
export async function compactDatabase(location: Location): Promise<void> {
  await (await kindOf(location)).compact(location);
}

/** Converts a known database error to an OperatorError that says what to do. Returns other errors unchanged. */
export async function explainDatabaseError(location: Location, error: unknown): Promise<unknown> {
  return (await kindOf(location)).explainError(location, error);
}

/**
 * Opens the rate-limit counters. Resets damaged counters.
 * @param onReset called with the cause after a reset, during this call or later
 * @throws OperatorError if the store cannot be used
 */
export async function openRateLimitStore(
  location: Location,
  onReset: (error: unknown) => void,
  stopDeadline?: StopDeadline,
): Promise<RateLimitStore> {
  return (await kindOf(location)).openRateLimitStore(location, onReset, stopDeadline);
}
