import { existsSync } from 'node:fs';
import { OperatorError } from '../../errors.ts';
import { createDataFolder } from '../../system/data-folder.ts';
import type { Engine } from '../engine.ts';
import type { DatabaseKind, Location } from '../kind.ts';
import { compactFile } from './compact.ts';
import { copyFile } from './copy.ts';
import { explainFailure } from './errors.ts';
import { acquireFileLock } from './file-lock.ts';
import { databaseFile, lockFile, rateLimitsFile } from './location.ts';
import { readAppliedMigrations } from './migrate.ts';
import { openSqlite } from './open.ts';
import { openSqliteRateLimitStore } from './rate-limit-store.ts';

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

  async open(
    location,
    {
      runsMaintenance = true,
      tasksModule,
      lockTimeoutMs = LOCK_TIMEOUT_MS,
      onLockWait = () => {},
      prepare,
      stopDeadline,
    },
  ) {
    await createDataFolder(location.dataDir);
    const open = () =>
      openSqlite(databaseFile(location), {
        migrate: true,
        runsMaintenance,
        tasksModule,
        prepare,
        stopSignal: stopDeadline?.signal,
      });
    // The process that runs the maintenance for this one has locked the folder.
    if (!runsMaintenance) return open();
    const lock = await acquireFileLock(lockFile(location), {
      mode: 'exclusive',
      timeoutMs: lockTimeoutMs,
      onWait: () =>
        onLockWait('another server or an import uses DATA_DIR, waiting until it has stopped'),
    });
    if (!lock) {
      throw new OperatorError(
        `Another server or an import uses DATA_DIR=${location.dataDir}. Stop it, or set DATA_DIR to another folder.`,
      );
    }
    return openLocked(lock, open);
  },

  /** Refuses to run beside a server, whose writers would wait for the import. */
  async openForImport(location) {
    await createDataFolder(location.dataDir);
    const lock = await acquireFileLock(lockFile(location), {
      mode: 'shared',
      timeoutMs: LOCK_TIMEOUT_MS,
    });
    if (!lock) {
      throw new OperatorError(
        `A server uses DATA_DIR=${location.dataDir}. Stop it before the import.`,
      );
    }
    return openLocked(lock, () =>
      openSqlite(databaseFile(location), { migrate: true, runsMaintenance: false }),
    );
  },

  async openExisting(location) {
    return openSqlite(existingFile(location), { migrate: false, runsMaintenance: false });
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

  async compact(location) {
    await compactFile(existingFile(location));
  },

  explainError(location, error) {
    return explainFailure(error, databaseFile(location));
  },

  async openRateLimitStore(location, onReset) {
    await createDataFolder(location.dataDir);
    return openSqliteRateLimitStore(rateLimitsFile(location), onReset);
  },
};

/** Opens a database that releases the lock after it has closed. */
async function openLocked(lock: Disposable, open: () => Promise<Engine>): Promise<Engine> {
  const releaseLock = () => lock[Symbol.dispose]();
  try {
    const engine = await open();
    const close = () => engine.close().finally(releaseLock);
    return { ...engine, close, [Symbol.asyncDispose]: close };
  } catch (error) {
    releaseLock();
    throw error;
  }
}

function existingFile(location: Location): string {
  sqlite.assertExists(location);
  return databaseFile(location);
}
