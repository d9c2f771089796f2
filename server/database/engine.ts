import type { Kysely, Transaction } from 'kysely';
import type { Schema } from './schema.ts';

export type Database = Kysely<Schema>;
export type DatabaseTransaction = Transaction<Schema>;

/** Everything that depends on the kind of database. Code outside this folder works with any engine. */
export interface Engine {
  /** For writes, and for reads that must see every committed write. */
  db: Database;
  /** For reads that may lag behind. Without a read replica, the same as `db`. */
  readDb: Database;
  wordIndex: WordIndex;
  isUniqueViolation(error: unknown): boolean;
  /** Whether the database is locked, full or unreachable, so that a later retry may succeed. */
  isUnavailable(error: unknown): boolean;
  /**
   * Runs a long task without blocking this thread. Tasks run one after the other.
   * @throws what the task throws. A `DomainError` keeps its class, and other errors keep their name, message and code.
   */
  runTask(task: TaskName, target: TaskTarget): Promise<void>;
  activity(): Activity;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** What this process has done with the database since it opened it. */
export interface Activity {
  /** Time that the main thread has spent inside the database, blocked. */
  busySeconds: number;
  /** Time that writers have waited for the write lock. */
  waitSeconds: number;
  /** Writers that wait for the write lock now. */
  waitingWriters: number;
}

/** The row that a task deletes, and the session of the caller who asked for it. */
export interface TaskTarget {
  pk: number;
  sessionPk: number;
}

/** What a tasks module exports as `tasks`. */
export interface Tasks {
  eraseAccount(engine: Engine, target: TaskTarget): Promise<void>;
  eraseSpace(engine: Engine, target: TaskTarget): Promise<void>;
  /** Replaces the dictionary of search if the word index has changed since it was built. Maintenance calls it. */
  refreshDictionary(engine: Engine): Promise<void>;
}

export type TaskName = 'eraseAccount' | 'eraseSpace';

/** A condition on the words of a document. */
export type WordPattern =
  | { term: string; isPrefix: boolean }
  | { allOf: WordPattern[] }
  | { anyOf: WordPattern[] };

/** Which words a pattern is about: those of the title, or those of title and description together. */
export type WordScope = 'title' | 'all';

/** A search of the word index. It finds the documents that match the pattern in the scope, and none of `except`. */
export interface WordQuery {
  pattern: WordPattern;
  scope: WordScope;
  except?: { pattern: WordPattern; scope: WordScope }[];
}

/** A part of a word index to search. */
export interface WordRange {
  /** Only keys greater than this. */
  after: number;
  limit: number;
  /** If set, only documents that have a term with one of these prefixes, which also bounds the cost of the search. */
  within?: readonly string[];
}

/** The full-text index of public spaces. Its documents are identified by `public_spaces.key`. */
export interface WordIndex {
  add(db: Database, key: number, words: { title: string[]; all: string[] }): Promise<void>;
  remove(db: Database, key: number): Promise<void>;
  /** Makes searches fast at once after many additions. Otherwise maintenance does so in small steps. */
  optimize(db: Database): Promise<void>;
  /** Removes all documents. */
  clear(db: Database): Promise<void>;
  /** Returns the keys of matching documents in ascending order. */
  find(db: Database, query: WordQuery, range: WordRange): Promise<number[]>;
  /** Returns each term of scope `all` with the number of its documents, ordered by the bytes of the term. */
  terms(db: Database): AsyncIterable<{ term: string; documents: number }>;
}
