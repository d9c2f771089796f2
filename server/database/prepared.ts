import { type Compilable, type CompiledQuery, type RawBuilder, sql } from 'kysely';
import type { Database } from './engine.ts';

/** The TypeScript type of the values for each SQL type of a parameter. */
interface ParameterTypes {
  bigint: number;
  text: string;
  'nullable text': string | null;
  'nullable bigint': number | null;
}

export type ParameterType = keyof ParameterTypes;

type Types = Record<string, ParameterType>;

type Values<T extends Types> = { [Name in keyof T]: ParameterTypes[T[Name]] };

type Placeholders<T extends Types> = { [Name in keyof T]: RawBuilder<ParameterTypes[T[Name]]> };

type Build<T extends Types, Row> = (
  db: Database,
  placeholders: Placeholders<T>,
) => Compilable<Row> | RawBuilder<Row>;

type BuildMany<T extends Types, Row> = (
  db: Database,
  rows: readonly Placeholders<T>[],
) => Compilable<Row> | RawBuilder<Row>;

/**
 * Returns a function that runs a query. The query is compiled once per kind of database, because compiling takes longer
 * than running most queries.
 * @param types the parameters' names and types
 */
export function prepare<const T extends Types, Row>(
  types: T,
  build: Build<T, Row>,
): (db: Database, values: Values<T>) => Promise<Row[]> {
  const run = prepareRows<T, Row>(types, 1, (db, [row]) => build(db, row as Placeholders<T>));
  return (db, values) => run(db, [values]);
}

/**
 * Like `prepare`, but for a set of any size, such as the ids of rows to read or delete. The query runs once for up to
 * MAX_ROWS_PER_STATEMENT elements, and the results are concatenated.
 * @param build is called with placeholders for each element. The query must ignore repeated elements.
 */
export function prepareForSet<const T extends Types, Row>(
  types: T,
  build: BuildMany<T, Row>,
): (db: Database, list: readonly Values<T>[]) => Promise<Row[]> {
  const statements = prepareSizes(types, build);
  return async (db, list) => {
    const results: Row[][] = [];
    for (let next = 0; next < list.length; ) {
      const part = list.slice(next, next + MAX_ROWS_PER_STATEMENT);
      next += part.length;
      // Padded to the next size, so that one statement reads the whole part.
      const { size, run } = statements.findLast(
        (each) => each.size >= part.length,
      ) as SizedStatement<T, Row>;
      while (part.length < size) part.push(part[0] as Values<T>);
      results.push(await run(db, part));
    }
    return results.flat();
  };
}

/**
 * Like `prepare`, but for any number of rows, each of which counts, such as new ones. The statement runs for up to
 * MAX_ROWS_PER_STATEMENT rows at once, in their order, and the results are concatenated.
 * @param build is called with placeholders for each row
 */
export function prepareForRows<const T extends Types, Row>(
  types: T,
  build: BuildMany<T, Row>,
): (db: Database, rows: readonly Values<T>[]) => Promise<Row[]> {
  const statements = prepareSizes(types, build);
  return async (db, rows) => {
    const results: Row[][] = [];
    let next = 0;
    for (const { size, run } of statements) {
      for (; rows.length - next >= size; next += size) {
        results.push(await run(db, rows.slice(next, next + size)));
      }
    }
    return results.flat();
  };
}

/** Returns one column of the rows, such as the placeholders of all ids for an `IN` list. */
export function columnOf<Row, Name extends keyof Row>(
  rows: readonly Row[],
  name: Name,
): Row[Name][] {
  return rows.map((row) => row[name]);
}

export const MAX_ROWS_PER_STATEMENT = 256;

/** A statement for a fixed number of rows. */
interface SizedStatement<T extends Types, Row> {
  size: number;
  run: (db: Database, rows: readonly Values<T>[]) => Promise<Row[]>;
}

/**
 * Returns a statement for each power of two, in descending order. There are only a few sizes, because each is compiled
 * separately.
 */
function prepareSizes<T extends Types, Row>(
  types: T,
  build: BuildMany<T, Row>,
): SizedStatement<T, Row>[] {
  const statements: SizedStatement<T, Row>[] = [];
  for (let size = MAX_ROWS_PER_STATEMENT; size >= 1; size /= 2) {
    statements.push({ size, run: prepareRows(types, size, build) });
  }
  return statements;
}

/** Marks a parameter of a compiled query. Replaced by its value when the query runs. */
class NamedParameter {
  readonly row: number;
  readonly name: string;

  constructor(row: number, name: string) {
    this.row = row;
    this.name = name;
  }
}

function prepareRows<T extends Types, Row>(
  types: T,
  rowCount: number,
  build: BuildMany<T, Row>,
): (db: Database, rows: readonly Values<T>[]) => Promise<Row[]> {
  // By the class of the dialect's adapter, because each kind of database has its own SQL.
  const compiled = new Map<unknown, CompiledQuery<Row>>();
  return async (db, rows) => {
    const dialect = db.getExecutor().adapter.constructor;
    let query = compiled.get(dialect);
    if (!query) {
      const placeholders = Array.from({ length: rowCount }, (_, row) => placeholdersOf(types, row));
      query = build(db, placeholders).compile(db);
      compiled.set(dialect, query);
    }
    const parameters = query.parameters.map((each) =>
      each instanceof NamedParameter ? rows[each.row]?.[each.name] : each,
    );
    const { rows: found } = await db.executeQuery<Row>({ ...query, parameters });
    return found;
  };
}

/**
 * Returns placeholders that cast their values. Without a cast, SQLite plans a statement again for every new value in a
 * limit or comparison, which can take longer than running it.
 */
function placeholdersOf<T extends Types>(types: T, row: number): Placeholders<T> {
  const placeholders = Object.entries(types).map(([name, type]) => {
    const parameter = sql.val(new NamedParameter(row, name));
    return [
      name,
      type.endsWith('bigint') ? sql`CAST(${parameter} AS BIGINT)` : sql`CAST(${parameter} AS TEXT)`,
    ];
  });
  return Object.fromEntries(placeholders);
}
