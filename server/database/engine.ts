import type { SearchResult } from '../../generated/types.gen.ts';
import type { Position } from '../pagination.ts';
import type { Database, DatabaseTransaction, PublicSpaces } from './schema.ts';
import type { Snapshot } from './snapshot.ts';
import type { WordIndex } from './word-index.ts';

export type { Database, DatabaseTransaction } from './schema.ts';

/** An open database. Only this folder depends on the kind of database. */
export interface Engine {
  /** For writes and reads. Reads see every committed write. */
  db: Database;
  wordIndex: WordIndex;
  searchIndex: SearchIndex;
  /**
   * Requests that maintenance overwrites the bytes of deleted rows, if this kind of database supports it. Called in the
   * transaction that deletes an account.
   * @param userIdHash of a deleted account, which a restored backup must not bring back
   */
  requestPurge(trx: DatabaseTransaction, userIdHash?: string): Promise<void>;
  /**
   * Requests that maintenance overwrites the bytes of deleted and replaced rows outside of the search index some minutes
   * later, together with those of other requests, if this kind of database supports it.
   */
  requestLaterPurge(trx: DatabaseTransaction): Promise<void>;
  /**
   * If there are no spaces, drops indexes that an import does not need, because building them at its end is many times
   * as fast as adding rows to them. Not on a database server, where readers would wait.
   * @returns a function that builds them. Call it in the same transaction.
   */
  dropIndexes?(trx: DatabaseTransaction): Promise<() => Promise<void>>;
  /** Acquires the write lock until the transaction ends. Must be the first call of every transaction that writes. */
  lockForWriting(trx: DatabaseTransaction, mode: WriteLockMode): Promise<void>;
  /**
   * Returns the time of a new event in these spaces, in milliseconds: now, or later than their latest event. Until the
   * transaction ends, others that call this function for the same spaces wait. So events become visible in the order of
   * their times. Call it as late as possible, so that others wait only for the commit, but before deleting messages of
   * the spaces, because deleted ones do not count as events.
   * @returns the time, and the number of the transaction
   */
  nextEvent(trx: Database, spacePks: readonly number[]): Promise<NewEvent>;
  /**
   * Returns a number of the transaction for the columns `changed_in`. Whether another transaction sees its changes depends
   * on whether its snapshot shows the number.
   */
  transactionNumber(trx: Database): Promise<number>;
  /** Returns which transactions have been committed. Later reads see them all. */
  readCommits(): Promise<Commits>;
  /**
   * Tells all processes that something has happened that their waiting requests may return. Only a hint: it can be lost.
   * @param subject see `spaces/subjects.ts`. At most 78 bytes, without spaces.
   */
  announceEvent(subject: string): void;
  /**
   * Calls a function with each subject that is announced, from now on and until the engine is closed. It must not throw.
   */
  onEvent(listener: (subject: string) => void): void;
  /** Returns whether a transaction was rolled back only because of a concurrent one. */
  isConflict(error: unknown): boolean;
  isUniqueViolation(error: unknown): boolean;
  /** Returns whether the error means that the database is locked, full, damaged or unreachable. */
  isUnavailable(error: unknown): boolean;
  /** Returns whether a check has found damage that the service cannot repair. */
  isDamaged(): boolean;
  /**
   * @throws OperatorError if the database responds, but the service cannot work with it: it is damaged, a standby, or of
   *   another version
   */
  assertUsable(): Promise<void>;
  /**
   * Runs a long task on another thread. Tasks run one after the other.
   * @throws the error of the task. A `DomainError` keeps its class, other errors keep their name, message and code.
   */
  runTask(task: TaskName, target: TaskTarget): Promise<void>;
  activity(): Activity;
  /** Returns the sizes of the database and of its write-ahead log in bytes. The log is null on a database server. */
  measureSize(): Promise<{ database: number; log: number | null }>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface NewEvent {
  /** In milliseconds. */
  ms: number;
  /** See `Engine.transactionNumber`. */
  transaction: number;
}

export interface Commits {
  snapshot: Snapshot;
  /**
   * Differs if numbers can have been used again for other transactions: after a backup has been restored, and after a
   * restart of PostgreSQL.
   */
  epoch: string;
}

/**
 * Which other transactions a writing transaction waits for:
 * - `shared`: those in mode `exclusive`
 * - `exclusive`: all that write
 */
export type WriteLockMode = 'shared' | 'exclusive';

/** The search index, in SQLite: in the database itself, or in a copy on this machine that follows a database server. */
export interface SearchIndex {
  /** The database with the tables of the index. */
  db: Database;
  /** The same, with what its transactions need. */
  engine: IndexEngine;
  /**
   * Records that spaces have changed, in the transaction that changes them. Undefined if the index is in the same
   * database: then the transaction changes the index itself.
   */
  record?(trx: Database, changes: SpaceChanges): Promise<void>;
  /**
   * Applies all changes that were committed before the call.
   * @throws an error for which `Engine.isUnavailable` returns true while the index is built or repaired
   */
  update(): Promise<void>;
  /** Whether the index has been built. Searches may nevertheless be unavailable for the time of a repair. */
  isReady(): Promise<boolean>;
  /** Runs `work` on a snapshot of the index, after earlier calls. It must not call this function. */
  read<T>(work: (snapshot: Database) => Promise<T>): Promise<T>;
  /** Returns the number of reads of this process that wait for earlier ones. */
  waitingReads(): number;
  /** Returns the number of spaces that searches do not find yet, because a large transaction has added them. */
  countPending(): Promise<number>;
  /** Returns whether the index has spaces that results must omit. See `hidden-spaces.ts`. */
  hasHiddenSpaces(snapshot: Database): Promise<boolean>;
  /** Returns the state of the index that a snapshot of `db` shows, for the positions of later pages. */
  readMark(snapshot: Database): Promise<IndexMark>;
  /**
   * Returns whether a space has been added, edited or moved down since a mark.
   * @returns undefined if the index no longer knows it
   */
  changesSince(snapshot: Database, mark: IndexMark): Promise<IsChanged | undefined>;
}

export type IndexEngine = Pick<Engine, 'db' | 'wordIndex' | 'isConflict' | 'lockForWriting'>;

export interface SpaceChanges {
  spacePks: readonly number[];
  /** Whether the spaces may have been added, edited or moved down. Later pages of lists omit them. */
  omit: boolean;
}

export type IndexMark = Position;

/** @param space its key, and its `PublicSpaces.revision` */
export type IsChanged = (space: { key: number; revision: number }) => boolean;

/** Counters of this process since it opened the database. */
export interface Activity {
  /** Time for which database calls have blocked the main thread. */
  busySeconds: number;
  /** Time that writers have waited for the write lock. */
  waitSeconds: number;
  /** Number of writers that are waiting for the write lock now. Always 0 if only a database server knows it. */
  waitingWriters: number;
  /** Number of queries and transactions that are waiting for a connection, and of reads of the search index, now. */
  waitingQueries: number;
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
   * For about a second, adds the words of messages to their index. Called by maintenance.
   * @returns whether nothing is left to do
   */
  indexMessages(engine: Engine, stopping: AbortSignal): Promise<boolean>;
  /**
   * Rebuilds the search dictionary if the word index has changed. Called by maintenance.
   * @returns false if words of deleted spaces in the word index have prevented it
   */
  refreshDictionary(index: IndexEngine): Promise<boolean>;
  /**
   * Adds a step of the queued spaces to a search index that is being rebuilt. Called by maintenance.
   * @returns false if it is complete
   */
  fillIndex(engine: Engine): Promise<boolean>;
  indexer: Indexer;
}

/** The functions that write spaces into the search index. */
export interface Indexer {
  /** Differs between versions that write different rows. */
  version: number;
  /** Returns those of the spaces that the search index contains, as they are now. */
  readSpaces(source: Database, spacePks: readonly number[]): Promise<IndexableSpace[]>;
  /** Returns the row of a space in `public_spaces`, without its revision. */
  rowOf(space: IndexableSpace): Omit<PublicSpaces, 'revision'>;
  /** Returns the `space_pk` of a `PublicSpaces.key`. */
  spacePkOf(key: number): number;
  /**
   * Replaces the rows and words of spaces.
   * @param spaces   those of `spacePks` that the index contains from now on
   * @param revision their `PublicSpaces.revision`
   */
  replaceSpaces(
    index: Pick<Engine, 'wordIndex'>,
    db: Database,
    spacePks: readonly number[],
    spaces: readonly IndexableSpace[],
    revision: (spacePk: number) => number,
  ): Promise<void>;
}

/** What the search index contains of a public space. */
export interface IndexableSpace extends Omit<SearchResult, 'creator' | 'visibility'> {
  pk: number;
  creator_pk: number;
}

export type TaskName = 'eraseAccount' | 'eraseSpace';
