import type { Database, DatabaseTransaction } from './schema.ts';
import type { WordIndex } from './word-index.ts';

export type { Database, DatabaseTransaction } from './schema.ts';

/** An open database. Only this folder depends on the kind of database. */
export interface Engine {
  /** For writes and reads. Reads see every committed write. */
  db: Database;
  wordIndex: WordIndex;
  /**
   * Runs `read` on a snapshot of the read replica, if its `search_revision` has reached `minRevision`. Otherwise runs
   * it on `db`.
   * @param read must query only its parameter. Runs again on `db` if the replica fails.
   */
  readOnReplica<T>(minRevision: number, read: (db: Database) => Promise<T>): Promise<T>;
  /**
   * Requests that maintenance overwrites the bytes of deleted rows, if this kind of database supports it. Called in the
   * transaction that deletes an account.
   */
  requestPurge(trx: DatabaseTransaction): Promise<void>;
  /** Acquires the write lock until the transaction ends. This or `lockMessageOrder` must be the first call of every transaction that writes. */
  lockForWriting(trx: DatabaseTransaction, mode: WriteLockMode): Promise<void>;
  /**
   * Like `lockForWriting`, for a transaction with events in a space. Waits for other transactions that have called this
   * function for the same space or for all spaces, and for those in mode `exclusive`. So it sees all of their events,
   * and its own become visible later. It must not change the search index, unless it is for all spaces.
   * @param spaceId null for all spaces
   */
  lockMessageOrder(trx: DatabaseTransaction, spaceId: string | null): Promise<void>;
  /** Tells all processes that something has happened to the messages of a space. Only a hint: it can be lost. */
  announceEvent(spaceId: string): void;
  /**
   * Calls a function with the id of each space that is announced, from now on and until the engine is closed. It must
   * not throw.
   */
  onEvent(listener: (spaceId: string) => void): void;
  /** Returns whether a transaction was rolled back only because of a concurrent one. */
  isConflict(error: unknown): boolean;
  isUniqueViolation(error: unknown): boolean;
  /** Returns whether the error means that the database is locked, full or unreachable. A later retry may succeed. */
  isUnavailable(error: unknown): boolean;
  /** Returns whether the database is a standby, which accepts no writes until it is promoted. */
  isStandby(): Promise<boolean>;
  /**
   * Runs a long task on another thread. Tasks run one after the other.
   * @throws the error of the task. A `DomainError` keeps its class, other errors keep their name, message and code.
   */
  runTask(task: TaskName, target: TaskTarget): Promise<void>;
  activity(): Activity;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Which other transactions a writing transaction waits for:
 * - `shared`: those in mode `exclusive`
 * - `index`: also those in mode `index`, and those that have changed the search index
 * - `exclusive`: all that write
 */
export type WriteLockMode = 'shared' | 'index' | 'exclusive';

/** Counters of this process since it opened the database. */
export interface Activity {
  /** Time for which database calls have blocked the main thread. */
  busySeconds: number;
  /** Time that writers have waited for the write lock. */
  waitSeconds: number;
  /** Number of writers that are waiting for the write lock now. Always 0 if only a database server knows it. */
  waitingWriters: number;
  /** Number of queries and transactions that are waiting for a connection now, except those for the read replica. */
  waitingQueries: number;
  /** Undefined without a read replica. */
  replicaReads?: Readonly<ReplicaReads>;
}

/** Number of calls of `Engine.readOnReplica` by outcome. */
export interface ReplicaReads {
  /** Read on the replica. */
  replica: number;
  /** Read on the primary, because the replica had not reached `minRevision`. */
  behind: number;
  /** Read on the primary, because the replica failed or cannot be used. */
  failed: number;
}

/** The row that a task deletes, and the session of the caller. */
export interface TaskTarget {
  pk: number;
  sessionPk: number;
}

/** The export `tasks` of a tasks module. */
export interface Tasks {
  eraseAccount(engine: Engine, target: TaskTarget): Promise<void>;
  eraseSpace(engine: Engine, target: TaskTarget): Promise<void>;
  /**
   * For about a second, deletes rows of deleted spaces and accounts. Called by maintenance.
   * @returns whether none are left
   */
  eraseDeletedRows(engine: Engine, stopping: AbortSignal): Promise<boolean>;
  /**
   * Rebuilds the search dictionary if the word index has changed. Called by maintenance.
   * @returns false if words of deleted spaces in the word index have prevented it
   */
  refreshDictionary(engine: Engine): Promise<boolean>;
}

export type TaskName = 'eraseAccount' | 'eraseSpace';
