import type Sqlite from 'better-sqlite3';
import type { AccessMode, CompiledQuery, QueryResult } from 'kysely';
import { LRUCache } from 'lru-cache';
import { openFile } from './open-file.ts';
import type { Meter } from './waiting.ts';

/** Limited, because a query with a list of values has a different SQL text for each length of the list. */
const MAX_STATEMENTS = 500;

/** An open SQLite file. Runs compiled Kysely queries with cached statements, and measures their time. */
export class SqliteHandle {
  readonly #sqlite: Sqlite.Database;
  readonly #statements: LRUCache<string, Sqlite.Statement>;
  readonly #meter: Meter;

  constructor(file: string, accessMode: AccessMode, meter: Meter, temporaryFiles = false) {
    this.#sqlite = openFile(file, temporaryFiles);
    if (accessMode === 'read only') this.#sqlite.pragma('query_only = ON');
    this.#statements = new LRUCache<string, Sqlite.Statement>({
      max: MAX_STATEMENTS,
      memoMethod: (sql) => this.#sqlite.prepare(sql),
    });
    this.#meter = meter;
  }

  get isInTransaction(): boolean {
    return this.#sqlite.inTransaction;
  }

  isReadOnly(sql: string): boolean {
    return this.#statements.memo(sql).readonly;
  }

  exec(sql: string): void {
    this.#meter.measureBusy(() => this.#sqlite.exec(sql));
  }

  execute<R>({ sql, parameters }: CompiledQuery): QueryResult<R> {
    return this.#meter.measureBusy(() => {
      const statement = this.#statements.memo(sql);
      if (statement.reader) return { rows: statement.all(parameters) as R[] };
      const { changes, lastInsertRowid } = statement.run(parameters);
      return { rows: [], insertId: BigInt(lastInsertRowid), numAffectedRows: BigInt(changes) };
    });
  }

  /**
   * Returns rows one by one. The statement is not cached, because it stays busy until the last row is read. Its time is
   * not measured.
   */
  iterate<R>({ sql, parameters }: CompiledQuery): IterableIterator<R> {
    return this.#sqlite.prepare(sql).iterate(parameters) as IterableIterator<R>;
  }

  close(): void {
    this.#sqlite.close();
  }
}
