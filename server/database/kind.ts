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
   * Whether this process runs maintenance. With a SQLite file, set it in only one process. Processes that share a
   * PostgreSQL database elect one of them.
   */
  runsMaintenance?: boolean;
  /** URL of a module that exports `tasks`. Without it, `Engine.runTask` throws. */
  tasksModule?: URL;
  /** How long to wait for another process that has locked the data folder. */
  lockTimeoutMs?: number;
  /** Called once, before the first wait for the lock. */
  onLockWait?: () => void;
  /** Called when the read replica becomes unusable: once, until the replica is usable again. */
  onReplicaUnusable?: (cause: unknown) => void;
  /** Called when it is usable again. */
  onReplicaUsable?: () => void;
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
