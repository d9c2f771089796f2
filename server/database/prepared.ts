import { type Compilable, type CompiledQuery, type RawBuilder, sql } from 'kysely';
import type { Database, Engine } from './engine.ts';

/** The TypeScript type of the values for each SQL type of a parameter. */
interface ParameterTypes {
  bigint: number;
  text: string;
  'nullable text': string | null;
}

type Types = Record<string, keyof ParameterTypes>;

type Values<T extends Types> = { [Name in keyof T]: ParameterTypes[T[Name]] };

type Placeholders<T extends Types> = { [Name in keyof T]: RawBuilder<ParameterTypes[T[Name]]> };

type Build<T extends Types, Row> = (
  engine: Engine,
  placeholders: Placeholders<T>,
) => Compilable<Row> | RawBuilder<Row>;

type BuildMany<T extends Types, Row> = (
  engine: Engine,
  rows: readonly Placeholders<T>[],
) => Compilable<Row> | RawBuilder<Row>;

/**
 * Returns a function that runs a query on `engine.db` or in a transaction. The query is compiled once per engine,
 * because compiling takes longer than running most queries.
 * @param types the parameters' names and types
 */
export function prepareRead<const T extends Types, Row>(
  types: T,
  build: Build<T, Row>,
): (engine: Engine, values: Values<T>, db?: Database) => Promise<Row[]> {
  const run = prepare(types, build);
  return (engine, values, db = engine.db) => run(engine, values, db);
}

/** Like `prepareRead`, but for a statement that writes. The caller must pass a transaction or database. */
export function prepareWrite<const T extends Types, Row>(
  types: T,
  build: Build<T, Row>,
): (engine: Engine, values: Values<T>, db: Database) => Promise<Row[]> {
  return prepare(types, build);
}

/**
 * Like `prepareRead`, but for a list of any length, such as the ids of rows. The query runs once for up to
 * MAX_ROWS_PER_STATEMENT elements, and the results are concatenated.
 * @param build is called with placeholders for each element. The query must ignore repeated elements.
 */
export function prepareReadMany<const T extends Types, Row>(
  types: T,
  build: BuildMany<T, Row>,
): (engine: Engine, list: readonly Values<T>[], db?: Database) => Promise<Row[]> {
  const statements = prepareSizes(types, build);
  return async (engine, list, db = engine.db) => {
    const results: Row[][] = [];
    for (let next = 0; next < list.length; ) {
      const part = list.slice(next, next + MAX_ROWS_PER_STATEMENT);
      next += part.length;
      // Padded to the next size, so that one statement reads the whole part.
      const { size, run } = statements.findLast(
        (each) => each.size >= part.length,
      ) as SizedStatement<T, Row>;
      while (part.length < size) part.push(part[0] as Values<T>);
      results.push(await run(engine, part, db));
    }
    return results.flat();
  };
}

/**
 * Like `prepareWrite`, but for any number of rows. The statement runs for up to MAX_ROWS_PER_STATEMENT rows at once, in
 * their order, and the results are concatenated.
 * @param build is called with placeholders for each row
 */
export function prepareWriteMany<const T extends Types, Row>(
  types: T,
  build: BuildMany<T, Row>,
): (engine: Engine, rows: readonly Values<T>[], db: Database) => Promise<Row[]> {
  const statements = prepareSizes(types, build);
  return async (engine, rows, db) => {
    const results: Row[][] = [];
    let next = 0;
    for (const { size, run } of statements) {
      for (; rows.length - next >= size; next += size) {
        results.push(await run(engine, rows.slice(next, next + size), db));
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
  run: (engine: Engine, rows: readonly Values<T>[], db: Database) => Promise<Row[]>;
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

function prepare<T extends Types, Row>(types: T, build: Build<T, Row>) {
  const run = prepareRows<T, Row>(types, 1, (engine, [row]) =>
    build(engine, row as Placeholders<T>),
  );
  return (engine: Engine, values: Values<T>, db: Database) => run(engine, [values], db);
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
): (engine: Engine, rows: readonly Values<T>[], db: Database) => Promise<Row[]> {
  const compiled = new WeakMap<Engine, CompiledQuery<Row>>();
  return async (engine, rows, db) => {
    let query = compiled.get(engine);
    if (!query) {
      const placeholders = Array.from({ length: rowCount }, (_, row) => placeholdersOf(types, row));
      query = build(engine, placeholders).compile(engine.db);
      compiled.set(engine, query);
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
      type === 'bigint' ? sql`CAST(${parameter} AS BIGINT)` : sql`CAST(${parameter} AS TEXT)`,
    ];
  });
  return Object.fromEntries(placeholders);
}
