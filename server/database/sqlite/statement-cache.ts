import type Sqlite from 'better-sqlite3';

/** A query with a list of values has one SQL text per length of the list, so there can be any number of texts. */
const MAX_STATEMENTS = 500;

/** Prepares each SQL text once. When it is full, it starts anew. */
export class StatementCache {
  readonly #sqlite: Sqlite.Database;
  readonly #statements = new Map<string, Sqlite.Statement>();

  constructor(sqlite: Sqlite.Database) {
    this.#sqlite = sqlite;
  }

  prepare(sql: string): Sqlite.Statement {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.#sqlite.prepare(sql);
      if (this.#statements.size >= MAX_STATEMENTS) this.#statements.clear();
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}
