import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { OperatorError } from '../errors.ts';
import type { Engine } from './engine.ts';
import { explainFailure } from './sqlite/errors.ts';
import { acquireFileLock } from './sqlite/file-lock.ts';
import { compactFile, copyFile, isMarkedAsCopy } from './sqlite/files.ts';
import { openSqlite } from './sqlite/open.ts';

/** The settings that locate the database. */
interface Location {
  dataDir: string;
}

export interface OpenOptions {
  /** Whether this process runs maintenance. It then locks the data folder, because only one process may. */
  runsMaintenance?: boolean;
  /** URL of a module that exports `tasks`. Without it, `Engine.runTask` throws. */
  tasksModule?: URL;
  /** How long to wait for another process that has locked the data folder. */
  lockTimeoutMs?: number;
  /** Called once before waiting for the lock. */
  onLockWait?: () => void;
}

/** Long enough for two processes that start at the same time. */
const MIN_LOCK_TIMEOUT_MS = 1_000;

export function hasDatabase(location: Location): boolean {
  return existsSync(databaseFile(location));
}

/** @throws OperatorError if the data folder has no database */
export function assertDatabaseExists(location: Location): void {
  if (hasDatabase(location)) return;
  throw new OperatorError(
    `DATA_DIR=${location.dataDir} has no database. Set it to the folder of the service's data.`,
  );
}

/** Whether a server or an import has used a folder as its data folder. */
export function isDataFolder(dataDir: string): boolean {
  return existsSync(lockFile({ dataDir }));
}

/** Whether a file is a copy by `copyDatabase` that no server or import has used since. */
export async function isBackup(file: string): Promise<boolean> {
  return isMarkedAsCopy(file);
}

/**
 * Opens the configured database. Creates it if it is missing, and applies missing migrations.
 * @throws OperatorError if it cannot be used, belongs to a newer version or another program, or is in use by another
 *   server or an import
 */
export async function openDatabase(
  location: Location,
  {
    runsMaintenance = true,
    tasksModule,
    lockTimeoutMs = MIN_LOCK_TIMEOUT_MS,
    onLockWait,
  }: OpenOptions = {},
): Promise<Engine> {
  await mkdir(location.dataDir, { recursive: true });
  const open = () =>
    openSqlite(databaseFile(location), { migrate: true, runsMaintenance, tasksModule });
  // The process that runs the maintenance for this one has locked the folder.
  if (!runsMaintenance) return open();
  const lock = await acquireFileLock(lockFile(location), {
    mode: 'exclusive',
    timeoutMs: lockTimeoutMs,
    onWait: onLockWait,
  });
  if (!lock) {
    throw new OperatorError(
      `Another server or an import uses DATA_DIR=${location.dataDir}. Stop it, or set DATA_DIR to another folder.`,
    );
  }
  return openLocked(lock, open);
}

/**
 * Opens the configured database for an import, like `openDatabase` but without maintenance. Several imports can run at
 * the same time.
 * @throws OperatorError also if a server uses the database, because its writers would wait for the import
 */
export async function openDatabaseForImport(location: Location): Promise<Engine> {
  await mkdir(location.dataDir, { recursive: true });
  const lock = await acquireFileLock(lockFile(location), {
    mode: 'shared',
    timeoutMs: MIN_LOCK_TIMEOUT_MS,
  });
  if (!lock) {
    throw new OperatorError(
      `A server uses DATA_DIR=${location.dataDir}. Stop it before the import.`,
    );
  }
  return openLocked(lock, () =>
    openSqlite(databaseFile(location), { migrate: true, runsMaintenance: false }),
  );
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

/** Converts an error of the configured database to an OperatorError that says what to do, if it is a known one. */
export function explainDatabaseError(location: Location, error: unknown): unknown {
  return explainFailure(error, databaseFile(location));
}

/** Opens a database that releases the lock after it has closed. */
async function openLocked(lock: Disposable, open: () => Promise<Engine>): Promise<Engine> {
  using held = new DisposableStack();
  held.use(lock);
  const engine = await open();
  const { close: closeEngine } = engine;
  const release = held.move();
  const close = async () => {
    using _released = release;
    await closeEngine();
  };
  return { ...engine, close, [Symbol.asyncDispose]: close };
}

function lockFile({ dataDir }: Location): string {
  return join(dataDir, 'space-service.lock');
}

function databaseFile({ dataDir }: Location): string {
  return join(dataDir, 'space-service.sqlite');
}

function existingFile(location: Location): string {
  assertDatabaseExists(location);
  return databaseFile(location);
}
