import { type Compilable, type RawBuilder, sql } from 'kysely';
import type { Database, Engine } from './engine.ts';

/** What a query's text has in the place of a value. */
class Parameter {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/**
 * A query whose text is put together once for an engine and then run with ever new values: putting it together takes
 * longer than the database takes to answer most queries.
 * @param build what makes the query of the parameters; their names are those of the values, whose types never change
 */
export function prepared<Values extends object, Row>(
  build: (
    engine: Engine,
    parameters: { [Name in keyof Values]: RawBuilder<Values[Name]> },
  ) => Compilable<Row> | RawBuilder<Row>,
): (engine: Engine, values: Values, db?: Database) => Promise<Row[]> {
  const compiled = new WeakMap<Engine, ReturnType<RawBuilder<Row>['compile']>>();
  return async (engine, values, db = engine.readDb) => {
    let query = compiled.get(engine);
    if (!query) {
      const parameters = Object.entries(values).map(([name, value]) => [name, place(name, value)]);
      query = build(engine, Object.fromEntries(parameters)).compile(db);
      compiled.set(engine, query);
    }
    const parameters = query.parameters.map((each) =>
      each instanceof Parameter ? values[each.name as keyof Values] : each,
    );
    const { rows } = await db.executeQuery<Row>({ ...query, parameters });
    return rows;
  };
}

/**
 * The place of a value, with its type: SQLite, whose planner would like to know the values of bare parameters in limits
 * and comparisons, plans a statement that has them anew whenever it is run, which can take longer than running it.
 */
function place(name: string, value: unknown): RawBuilder<unknown> {
  const parameter = sql.val(new Parameter(name));
  if (typeof value === 'string') return sql`CAST(${parameter} AS TEXT)`;
  if (typeof value === 'number') return sql`CAST(${parameter} AS BIGINT)`;
  return parameter;
}
