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
  /**
   * Called while another process holds a lock: once on SQLite, every ten seconds on PostgreSQL.
   * @param message what this process waits for, for the log
   */
  onLockWait?: (message: string) => void;
  /** Work before the database is used, such as a rebuild of the search index. Has no time limits. */
  prepare?: (engine: Engine) => Promise<void>;
  stopDeadline?: StopDeadline;
  /** Called when the read replica becomes unusable: once, until the replica is usable again. */
  onReplicaUnusable?: (cause: unknown) => void;
  /** Called when it is usable again. */
  onReplicaUsable?: () => void;
}

/** The time by which a stopping process must be done with the database. */
export interface StopDeadline {
  /** When it is aborted, pending and later queries fail. On SQLite, only writes that wait for another process fail. */
  signal: AbortSignal;
  /**
   * Called if queries, tasks or maintenance of a database server were still running then. May be called several times.
   */
  onMissed(): void;
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
    stopDeadline?: StopDeadline,
  ): Promise<RateLimitStore>;
}
