import type { Engine } from './engine.ts';
import type { RateLimitStore } from './rate-limit-store.ts';

/** The settings that locate the database. */
export interface Location {
  dataDir: string;
  /** Null or omitted: the SQLite file in the data folder. */
  databaseUrl?: string | null;
  /** A read replica of `databaseUrl`. Only servers use it. */
  databaseReadUrl?: string | null;
}

export interface OpenOptions {
  /**
   * Whether this process runs maintenance. Of the processes that use a SQLite file, only one may. Processes that share
   * a PostgreSQL database take turns.
   */
  runsMaintenance?: boolean;
  /** URL of a module that exports `tasks`. Without it, `Engine.runTask` throws. */
  tasksModule?: URL;
  /** How long to wait for another process that has locked the data folder. */
  lockTimeoutMs?: number;
  /** Called once, before the first wait for the lock. */
  onLockWait?: () => void;
  /** Called when the read replica cannot be used. Called again only if it could be used in between. */
  onReplicaUnusable?: (cause: unknown) => void;
}

/** A kind of database. For the functions, see `open.ts`. */
export interface DatabaseKind {
  assertExists(location: Location): void;
  open(location: Location, options: OpenOptions): Promise<Engine>;
  openForImport(location: Location): Promise<Engine>;
  openExisting(location: Location): Promise<Engine>;
  copy(location: Location, target: string): Promise<void>;
  compact(location: Location): Promise<void>;
  explainError(location: Location, error: unknown): unknown;
  openRateLimitStore(
    location: Location,
    onReset: (error: unknown) => void,
  ): Promise<RateLimitStore>;
}
