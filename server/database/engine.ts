import type { Kysely, RawBuilder, Transaction } from 'kysely';
import type { QueryWord } from '../text/words/words.ts';
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

/** What a task is about: the row with this internal number, in the name of a caller's session. */
export interface Target {
  id: number;
  session: number;
}

/**
 * Where a public space must hold words: all in its title; all in its title and description together; the latter but
 * not the former.
 */
export type TextScope = 'title' | 'all' | 'rest';

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
