import { existsSync } from 'node:fs';
import { OperatorError } from '../../errors.ts';
import { createDataFolder } from '../../system/data-folder.ts';
import type { DatabaseKind, Location, OpenOptions } from '../kind.ts';
import { runCheck } from './check.ts';
import { compactFile } from './compact.ts';
import { copyFile } from './copy.ts';
import { openSqlite } from './engine.ts';
import { explainFailure } from './errors.ts';
import { acquireFileLock } from './file-lock.ts';
import { databaseFile, lockFile, rateLimitsFile } from './location.ts';
import { readAppliedMigrations, readMissingMigrations } from './migrate.ts';
import { openSqliteRateLimitStore } from './rate-limit-store.ts';
import { restoreFile } from './restore.ts';

/** Long enough for two processes that start at the same time. */
const LOCK_TIMEOUT_MS = 1_000;

/** A file in the data folder. */
export const sqlite: DatabaseKind = {
  assertExists(location) {
    if (existsSync(databaseFile(location))) return;
    throw new OperatorError(
      `DATA_DIR=${location.dataDir} has no database. Set it to the folder of the service's data.`,
    );
  },

  async missingMigrations(location) {
    return readMissingMigrations(databaseFile(location));
  },

  async open(location, options) {
    const { purpose = 'service', runsMaintenance = true } = options;
    if (purpose === 'command') return openSqlite(existingFile(location), options);
    await createDataFolder(location.dataDir);
    // The process that runs the maintenance for this one has locked the folder.
    if (purpose === 'service' && !runsMaintenance) {
      return openSqlite(databaseFile(location), options);
    }
    using lock = await lockFolder(location, options);
    const engine = await openSqlite(databaseFile(location), options);
    const heldLock = lock.move();
    const close = () => engine.close().finally(() => heldLock.dispose());
    return { ...engine, close, [Symbol.asyncDispose]: close };
  },

  async copy(location, target) {
    const file = existingFile(location);
    // With a wrong DATA_DIR, the copy could replace a backup of the service.
    if (readAppliedMigrations(file).length === 0) {
      throw new OperatorError(
        `${file} is empty. Set DATA_DIR to the folder of the service's data.`,
      );
    }
    await copyFile(file, target);
  },

  async restore(location, backup, prepare) {
    if (!existsSync(backup)) throw new OperatorError(`${backup} does not exist.`);
    await createDataFolder(location.dataDir);
    using _ = await lockFolder(location, {});
    return await restoreFile(databaseFile(location), backup, prepare);
  },

  async compact(location) {
    await compactFile(existingFile(location));
  },

  check(location, isFull) {
    return runCheck(existingFile(location), isFull);
  },

  explainError(location, error) {
    return explainFailure(error, databaseFile(location));
  },

  async openRateLimitStore(location, onReset) {
    await createDataFolder(location.dataDir);
    return openSqliteRateLimitStore(rateLimitsFile(location), onReset);
  },
};

/** @throws OperatorError if a server uses the folder, or an import if `purpose` is `service` */
async function lockFolder(
  location: Location,
  {
    purpose = 'service',
    lockTimeoutMs: timeoutMs = LOCK_TIMEOUT_MS,
    onLockWait = () => {},
  }: OpenOptions,
): Promise<DisposableStack> {
  const isImport = purpose === 'import';
  const lock = await acquireFileLock(lockFile(location), {
    mode: isImport ? 'shared' : 'exclusive',
    timeoutMs,
    onWait: () =>
      onLockWait('another server or an import uses DATA_DIR, waiting until it has stopped'),
  });
  if (!lock) {
    throw new OperatorError(
      isImport
        ? `A server uses DATA_DIR=${location.dataDir}. Stop it before the import.`
        : `Another server or an import uses DATA_DIR=${location.dataDir}. Stop it, or set DATA_DIR to another folder.`,
    );
  }
  const stack = new DisposableStack();
  stack.use(lock);
  return stack;
}

function existingFile(location: Location): string {
  sqlite.assertExists(location);
  return databaseFile(location);
}
