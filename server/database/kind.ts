import type { Engine, Indexer } from './engine.ts';
import type { RateLimitStore } from './rate-limit-store.ts';

/** The settings that locate the database. */
export interface Location {
  dataDir: string;
  /** Null or omitted: the SQLite file in the data folder. */
  databaseUrl?: string | null;
}

export interface OpenOptions {
  /**
   * - `service`, the default: creates and migrates the database. A SQLite file is locked, unless this process runs no
   *   maintenance.
   * - `import`: creates and migrates the database, and runs no maintenance. Several imports can run at the same time. On
   *   SQLite, none runs beside a server, whose writers would wait for it.
   * - `command`: runs no maintenance, also beside the service, and rejects a missing or outdated database.
   *
   * Imports and commands have no time limits.
   */
  purpose?: 'service' | 'import' | 'command';
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
  /**
   * Called before each migration.
   * @param left how many follow
   */
  onMigration?: (name: string, left: number) => void;
  /** Work before the database is used, such as a rebuild of the search index. Has no time limits. */
  prepare?: (engine: Engine) => Promise<void>;
  stopDeadline?: StopDeadline;
  /** Writes spaces into a copy of the search index. Without it, the copy cannot be used. */
  indexer?: Indexer;
  /** Called when a copy of the search index must be built or repaired. */
  onIndexRepair?: (reason: string) => void;
  /** Called after each step of that with the number of spaces that are left. */
  onIndexProgress?: (spaces: number) => void;
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

/** A damaged or missing table, and what the database says about it. */
export interface Defect {
  table: string;
  message: string;
}

/** The damaged tables of a database. */
export interface Check {
  /** Those of the search index. They are empty now, unless other tables are damaged, too. */
  index: Defect[];
  /** Others, which the service cannot repair. */
  data: Defect[];
  /** Whether these contain no data, so that `compact` repairs them. */
  isRepairable: boolean;
}

/** A kind of database. `databaseKind` returns that of a location. */
export interface DatabaseKind {
  /** @throws OperatorError if the data folder has no database */
  assertExists(location: Location): void;
  /**
   * Returns the names of the migrations that opening the database would apply. Does not change it.
   * @throws OperatorError if it belongs to a newer version or to another program
   */
  missingMigrations(location: Location): Promise<string[]>;
  /** See `openDatabase`. */
  open(location: Location, options: OpenOptions): Promise<Engine>;
  /**
   * Writes a consistent copy of the database, also while the service runs.
   * @param target a file that is missing or empty
   * @throws OperatorError if the database is missing or empty, belongs to another program, cannot be copied or is on a
   *   PostgreSQL server
   */
  copy(location: Location, target: string): Promise<void>;
  /**
   * Replaces the database by a copy of a backup. No service may run.
   * @param prepare called with the migrated copy, and the hashes of the ids of deleted accounts
   * @returns the folder with the replaced database; undefined if there was none
   * @throws OperatorError if the backup is missing, damaged or of a newer version, if a service runs, or on a PostgreSQL
   *   server
   */
  restore(
    location: Location,
    backup: string,
    prepare: (engine: Engine, erased: Set<string>) => Promise<void>,
  ): Promise<string | undefined>;
  /**
   * Rewrites the database, so that its files contain no deleted content. Writers wait until it is done.
   * @throws OperatorError if the database is missing, cannot be rewritten or is on a PostgreSQL server
   */
  compact(location: Location): Promise<void>;
  /**
   * Reads the whole database, also while the service runs. Empties a damaged search index, so that the service builds it
   * again. If other tables are damaged, the service is not ready until a later check finds none.
   * @param isFull also compares indexes with their tables, and checks references
   * @throws OperatorError if the database is missing or on a PostgreSQL server
   */
  check(location: Location, isFull?: boolean): Promise<Check>;
  /** Converts a known database error to an OperatorError that says what to do. Returns other errors unchanged. */
  explainError(location: Location, error: unknown): unknown;
  /**
   * Opens the rate-limit counters. Resets damaged counters.
   * @param onReset called with the cause after a reset, during this call or later
   * @throws OperatorError if the store cannot be used
   */
  openRateLimitStore(
    location: Location,
    onReset: (error: unknown) => void,
    stopDeadline?: StopDeadline,
  ): Promise<RateLimitStore>;
}
