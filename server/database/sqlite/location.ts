import { join } from 'node:path';
import type { Location } from '../kind.ts';

// The files in the data folder.

export function databaseFile({ dataDir }: Location): string {
  return join(dataDir, 'space-service.sqlite');
}

/** The folder with the copy of the search index of a database on a PostgreSQL server. */
export function searchIndexFolder({ dataDir }: Location): string {
  return join(dataDir, 'search-index');
}

export function lockFile({ dataDir }: Location): string {
  return join(dataDir, 'space-service.lock');
}

export function rateLimitsFile({ dataDir }: Location): string {
  return join(dataDir, 'limits.sqlite');
}
