import type { Kysely, Transaction } from 'kysely';
import type { Schema } from './schema.ts';

export type Database = Kysely<Schema>;
export type DatabaseTransaction = Transaction<Schema>;

/** An open database. Only this folder depends on the kind of database. */
export interface Engine {
  /** For writes and reads. Reads see every committed write. */
  db: Database;
  wordIndex: WordIndex;
  /**
   * Runs `read` on a snapshot of the read replica, if that has reached `minRevision`. Otherwise runs it on `db`.
   * @param read must query only its parameter. Runs again on `db` if the replica fails.
   */
  readOnReplica<T>(minRevision: number, read: (db: Database) => Promise<T>): Promise<T>;
  /**
   * Requests that maintenance overwrites the bytes of deleted rows, if this kind of database supports it. Called in the
   * transaction that deletes an account.
   */
  requestPurge(trx: DatabaseTransaction): Promise<void>;
  /** Waits for a transaction that has called `excludeWriters`. The first call of all other writing transactions. */
  shareWriting(trx: DatabaseTransaction): Promise<void>;
  /** Like `shareWriting`, but also waits for transactions that have called this or have changed the search index. */
  excludeIndexWriters(trx: DatabaseTransaction): Promise<void>;
  /** Waits for all other writing transactions, and blocks new ones until this one ends. Must be its first call. */
  excludeWriters(trx: DatabaseTransaction): Promise<void>;
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

/** Counters of this process since it opened the database. */
export interface Activity {
  /** Time for which database calls have blocked the main thread. */
  busySeconds: number;
  /** Time that writers have waited for the write lock. */
  waitSeconds: number;
  /** Number of writers that are waiting for the write lock now. */
  waitingWriters: number;
  /** Number of queries and transactions that are waiting for a connection now. */
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
   * Deletes rows of deleted spaces and accounts for about a second. Called by maintenance.
   * @returns whether none are left
   */
  eraseDeletedRows(engine: Engine, stopping: AbortSignal): Promise<boolean>;
  /** Rebuilds the search dictionary if the word index has changed. Called by maintenance. */
  refreshDictionary(engine: Engine): Promise<void>;
}

export type TaskName = 'eraseAccount' | 'eraseSpace';

/** A condition on the words of a document. */
export type WordPattern =
  | { term: string; isPrefix: boolean }
  | { allOf: WordPattern[] }
  | { anyOf: WordPattern[] };

/** The words that a pattern applies to: those of the title, or those of title and description together. */
export type WordScope = 'title' | 'all';

/** Selects the documents that match `pattern` in `scope`, except those that match one of `except`. */
export interface WordQuery {
  pattern: WordPattern;
  scope: WordScope;
  except?: { pattern: WordPattern; scope: WordScope }[];
}

/** The part of the word index to search. */
export interface WordRange {
  /** Only keys greater than this. */
  after: number;
  limit: number;
  /** Bounds the cost of the search. */
  within?: KeyRange;
}

/**
 * The documents with keys up to `lastKey`. After `WordRange.after`, these are exactly the documents with a term that
 * begins with one of `prefixes`. An index uses either of the two conditions.
 */
export interface KeyRange {
  prefixes: readonly string[];
  lastKey: number;
}

/** A search that a reader will run. */
export interface PlannedSearch {
  query: WordQuery;
  /** See `WordRange.after`. */
  after: number;
}

/** Runs searches that have words in common. May cache the parts of the index that it has read. */
export interface WordReader {
  /** Returns the keys of matching documents in ascending order. */
  find(query: WordQuery, range: WordRange): Promise<number[]>;
}

export interface IndexedDocument {
  /** `public_spaces.key` */
  key: number;
  words: { title: string[]; all: string[] };
}

/** Removals are applied first. Removed documents must have the same words as when they were added. */
export interface DocumentChanges {
  removed: readonly IndexedDocument[];
  added: readonly IndexedDocument[];
}

/** The full-text index of public spaces. */
export interface WordIndex {
  add(db: Database, documents: readonly IndexedDocument[]): Promise<void>;
  /** @param documents must have the same words as when they were added */
  remove(db: Database, documents: readonly IndexedDocument[]): Promise<void>;
  /** Removes and adds any number of documents in large batches. The index may be incomplete until it returns. */
  changeMany(db: Database, batches: AsyncIterable<DocumentChanges>): Promise<void>;
  /**
   * Merges the whole index in one step, for fast searches after many additions. Otherwise maintenance merges it in
   * small steps.
   */
  optimize(db: Database): Promise<void>;
  /** Removes all documents. */
  clear(db: Database): Promise<void>;
  /** @param planned expected searches. An index can read the beginnings of all their posting lists at once. */
  openReader(db: Database, planned: readonly PlannedSearch[]): WordReader;
  /** Returns each term of scope `all` with its number of documents, ordered by the bytes of the term. */
  terms(db: Database): AsyncIterable<{ term: string; documents: number }>;
}
