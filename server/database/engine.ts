import type { Kysely, RawBuilder, Transaction } from 'kysely';
import type { Schema } from './schema.ts';

export type Database = Kysely<Schema>;
export type DatabaseTransaction = Transaction<Schema>;

/** What a database must supply; queries themselves are written once. */
export interface Engine {
  /** Writes, and reads that must see every write committed before them. */
  db: Database;
  /** Reads that may lag behind where there is a replica. */
  readDb: Database;
  text: TextIndex;
  /** Whether the error says that a unique index refused a row. */
  isUniqueViolation(error: unknown): boolean;
  /** Whether the error says that the database cannot serve now (busy, full, gone), rather than that the query is wrong. */
  isUnavailable(error: unknown): boolean;
  /** Does what takes long, without holding up anything that runs here. */
  run(task: Task, target: Target): Promise<void>;
  /** What this process does with the database, by now. */
  activity(): Activity;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Sums since the start, and how many are waiting right now. */
export interface Activity {
  /** Time that the thread which answers requests has spent inside the database, unable to do anything else. */
  busySeconds: number;
  /** Time that writers have waited for their turn to write. */
  waitSeconds: number;
  waitingWriters: number;
}

/** Erasures may have to delete a great many rows. */
export type Task = 'eraseAccount' | 'eraseSpace';

/** The row that a task deletes, and the session of the caller who asked for it. */
export interface Target {
  pk: number;
  sessionPk: number;
}

/**
 * Where a public space must hold words: all in its title; all in its title and description together; the latter but
 * not the former.
 */
export type TextScope = 'title' | 'all' | 'rest';

/** A word of a query. */
export interface QueryWord {
  /** Folded, without the signs that join it. For a script written without spaces, the whole run. */
  word: string;
  /** A text matches only if it has every term of one of these lists. */
  anyOf: Term[][];
  /** Whether the terms are necessary but not sufficient, so that each matching text must be verified. */
  mustVerify: boolean;
}

/** An indexed word, or a prefix of one. */
export interface Term {
  text: string;
  isPrefix: boolean;
}

/** The word index of public spaces, by their `key` in `public_spaces`. */
export interface TextIndex {
  add(db: Database, key: number, words: { title: string[]; all: string[] }): Promise<void>;
  remove(db: Database, key: number): Promise<void>;
  /** Makes searches fast at once after many additions, which otherwise happens little by little in the background. */
  compact(db: Database): Promise<void>;
  /** What `matches` is to look for: the documents that hold all `words`. */
  pattern(words: readonly QueryWord[], scope: TextScope): string;
  /** A subquery of the keys beyond `after` whose documents match the pattern, ascending. */
  matches(pattern: RawBuilder<string>, after: RawBuilder<number>): RawBuilder<{ key: number }>;
}
