import type { Kysely, RawBuilder, Transaction } from 'kysely';
import type { QueryWord } from '../search/words/words.ts';
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

export type TaskName = 'eraseAccount' | 'eraseSpace';

/** The row that a task deletes, and the session of the caller who asked for it. */
export interface TaskTarget {
  id: number;
  session: number;
}

/** What a tasks module exports as `tasks`. */
export type Tasks = Record<TaskName, (engine: Engine, target: TaskTarget) => Promise<void>>;

/**
 * Which public spaces match: those with all words in the title, those with all words in title and description together,
 * or the second kind without the first.
 */
export type TextScope = 'title' | 'all' | 'rest';

/** The full-text index of public spaces. Its documents are identified by `public_spaces.key`. */
export interface WordIndex {
  add(db: Database, key: number, words: { title: string[]; all: string[] }): Promise<void>;
  remove(db: Database, key: number): Promise<void>;
  /** Makes searches fast at once after many additions. Otherwise maintenance does so in small steps. */
  optimize(db: Database): Promise<void>;
  /** Returns a pattern for `matches`: the spaces that have all `words` in the scope. */
  pattern(words: readonly QueryWord[], scope: TextScope): string;
  /** Returns a subquery of the keys greater than `after` that match the pattern, in ascending order. */
  matches(pattern: RawBuilder<string>, after: RawBuilder<number>): RawBuilder<{ key: number }>;
}
