import type Sqlite from 'better-sqlite3';

/** Queries with lists of values have one SQL text per list length, so the number of texts has no natural limit. */
const MAX_STATEMENTS = 500;

/** Prepares each SQL text once. */
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
