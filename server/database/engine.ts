import type { Kysely, RawBuilder, Transaction } from 'kysely';
import type { QueryWord } from '../search/words.ts';
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
  /** Does what takes long, to the row with this internal number, without holding up anything that runs here. */
  run(task: Task, id: number): Promise<void>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Erasures may have to delete a great many rows. */
export type Task = 'eraseAccount' | 'eraseSpace';

/** Which words of a public space to look at: the title's alone, or the title's and the description's. */
export type TextScope = 'title' | 'all';

/** The word index of public spaces, by their `key` in `public_spaces`. */
export interface TextIndex {
  add(db: Database, key: number, words: Record<TextScope, string[]>): Promise<void>;
  remove(db: Database, key: number): Promise<void>;
  /** A subquery of the keys beyond `after` whose documents hold all `words`, ascending. */
  matches(
    scope: TextScope,
    words: readonly QueryWord[],
    after: number,
  ): RawBuilder<{ key: number }>;
  /** Whether the document `key` of the row at hand holds all `words`. */
  holds(
    scope: TextScope,
    words: readonly QueryWord[],
    key: RawBuilder<number>,
  ): RawBuilder<boolean>;
}
