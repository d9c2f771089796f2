import { OperatorError } from '../../errors.ts';
import { createDataFolder } from '../../system/data-folder.ts';
import { erasureJournal } from '../erasure-journal.ts';
import type { DatabaseKind, Location } from '../kind.ts';
import { searchIndexFolder } from '../sqlite/location.ts';
import { openPostgresql, readMissingMigrations } from './engine.ts';
import { explainFailure } from './errors.ts';
import { openPostgresqlRateLimitStore } from './rate-limit-store.ts';

/** A database on a PostgreSQL server. Any number of processes and machines can use it. */
export const postgresql: DatabaseKind = {
  assertExists() {
    // Opening a missing database throws.
  },

  async missingMigrations(location) {
    return readMissingMigrations(urlOf(location));
  },

  /** An import can run while servers do. Their writers wait until it has ended. */
  async open(location, options) {
    await createDataFolder(location.dataDir);
    return openPostgresql(urlOf(location), {
      ...options,
      indexFolder: searchIndexFolder(location),
      journal: erasureJournal(location),
    });
  },

  async copy() {
    throw new OperatorError('DATABASE_URL is set. Use pg_dump to back up the database.');
  },

  async restore() {
    throw new OperatorError(
      'DATABASE_URL is set. Use pg_restore to restore the database, and then this command with --deletions-only.',
    );
  },

  async compact() {
    throw new OperatorError(
      'DATABASE_URL is set. PostgreSQL reuses the space of deleted rows itself. To make the files smaller, run VACUUM FULL.',
    );
  },

  async check() {
    throw new OperatorError(
      'DATABASE_URL is set. Use pg_amcheck to check the database. The service checks its copy of the search index itself.',
    );
  },

  explainError(location, error) {
    return explainFailure(error, urlOf(location));
  },

  async openRateLimitStore(location, _onReset, stopDeadline) {
    return openPostgresqlRateLimitStore(urlOf(location), stopDeadline);
  },
};

function urlOf({ databaseUrl }: Location): string {
  return databaseUrl as string;
}
