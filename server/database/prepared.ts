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

/**
 * Returns a function that runs a query on `engine.readDb` or in a transaction. The query is compiled once per engine,
 * because compiling takes longer than running most queries.
 * @param types the parameters' names and types
 */
export function prepareRead<const T extends Types, Row>(
  types: T,
  build: Build<T, Row>,
): (engine: Engine, values: Values<T>, db?: Database) => Promise<Row[]> {
  const run = prepare(types, build);
  return (engine, values, db = engine.readDb) => run(engine, values, db);
}

/** Like `prepareRead`, but for a statement that writes. The caller must pass a transaction or database. */
export function prepareWrite<const T extends Types, Row>(
  types: T,
  build: Build<T, Row>,
): (engine: Engine, values: Values<T>, db: Database) => Promise<Row[]> {
  return prepare(types, build);
}

/** A parameter of a compiled query, replaced by its value when the query runs. */
class NamedParameter {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

function prepare<T extends Types, Row>(types: T, build: Build<T, Row>) {
  const compiled = new WeakMap<Engine, CompiledQuery<Row>>();
  return async (engine: Engine, values: Values<T>, db: Database): Promise<Row[]> => {
    let query = compiled.get(engine);
    if (!query) {
      query = build(engine, placeholdersOf(types)).compile(engine.db);
      compiled.set(engine, query);
    }
    const parameters = query.parameters.map((each) =>
      each instanceof NamedParameter ? values[each.name] : each,
    );
    const { rows } = await db.executeQuery<Row>({ ...query, parameters });
    return rows;
  };
}

/**
 * Returns placeholders that cast their values. Without a cast, SQLite plans a statement again for every new value in a
 * limit or comparison, which can take longer than running it.
 */
function placeholdersOf<T extends Types>(types: T): Placeholders<T> {
  const placeholders = Object.entries(types).map(([name, type]) => {
    const parameter = sql.val(new NamedParameter(name));
    return [
      name,
      type === 'bigint' ? sql`CAST(${parameter} AS BIGINT)` : sql`CAST(${parameter} AS TEXT)`,
    ];
  });
  return Object.fromEntries(placeholders);
}
