import type Sqlite from 'better-sqlite3';

/** Limited, because a query with a list of values has a different SQL text for each length of the list. */
const MAX_STATEMENTS = 500;

/** Prepares each SQL text once. Discards all statements when it is full. */
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
