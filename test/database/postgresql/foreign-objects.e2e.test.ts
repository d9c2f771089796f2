import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openPostgresql } from '../../../server/database/postgresql/engine.ts';
import {
  execute,
  type PostgresqlServer,
  query,
  startPostgresql,
} from '../../support/postgresql.ts';

let server: PostgresqlServer;
beforeAll(async () => {
  server = await startPostgresql();
});
afterAll(() => server[Symbol.asyncDispose]());

/** Creates a database with objects in its schema. Returns its URL. */
async function createDatabaseWith(name: string, statements: readonly string[]): Promise<string> {
  const url = await server.createDatabase(name);
  for (const statement of statements) await execute(url, statement);
  return url;
}

const open = (url: string, purpose: 'import' | 'command' = 'import') =>
  openPostgresql(url, { purpose });

/** Returns the kind and name of each object in the schema. */
const objectsOf = (url: string) =>
  query(
    url,
    `SELECT relkind::text AS kind, relname AS name FROM pg_class
      WHERE relnamespace = current_schema()::regnamespace
    UNION ALL SELECT 'function', proname FROM pg_proc
      WHERE pronamespace = current_schema()::regnamespace
    ORDER BY kind, name`,
  );

const KYSELY_TABLE =
  'CREATE TABLE kysely_migration (name text PRIMARY KEY, timestamp text NOT NULL)';

describe('A new database is accepted', () => {
  test.each([
    ['an extension with views', 'CREATE EXTENSION pg_stat_statements'],
    // Like `spatial_ref_sys` of PostGIS.
    [
      'an extension with a table',
      'CREATE EXTENSION hstore',
      'CREATE TABLE spatial_ref_sys (srid integer PRIMARY KEY)',
      'ALTER EXTENSION hstore ADD TABLE spatial_ref_sys',
    ],
    ['an unrelated view', 'CREATE VIEW numbers AS SELECT 1 AS number'],
    ['a materialized view', 'CREATE MATERIALIZED VIEW numbers AS SELECT 1 AS number'],
    [
      'a sequence and a function',
      'CREATE SEQUENCE ids',
      "CREATE FUNCTION one() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
    ],
    [
      'the same library for migrations in another schema',
      'CREATE SCHEMA other',
      KYSELY_TABLE.replace('kysely_migration', 'other.kysely_migration'),
    ],
  ])('with %s', async (name, ...statements) => {
    const url = await createDatabaseWith(`new, ${name}`, statements);
    const before = await objectsOf(url);
    await expect(open(url, 'command')).rejects.toThrow(
      /^The database of DATABASE_URL is empty or /,
    );
    await using engine = await open(url);
    expect(await engine.db.selectFrom('users').selectAll().execute()).toEqual([]);
    expect(await objectsOf(url)).toEqual(expect.arrayContaining(before));
  });
});

describe('The database of another program is rejected and stays unchanged', () => {
  test.each([
    { contents: 'a table', statements: ['CREATE TABLE orders (id integer)'], found: 'orders' },
    {
      contents: 'a partitioned table',
      statements: ['CREATE TABLE orders (id integer) PARTITION BY LIST (id)'],
      found: 'orders',
    },
    {
      contents: 'many tables',
      statements: ['d', 'c', 'b', 'a', 'e'].map((name) => `CREATE TABLE ${name} (id integer)`),
      found: 'a, b, c, …',
    },
    {
      contents: 'a table with a name that the service needs',
      statements: ['CREATE TABLE users (id integer)'],
      found: 'users',
    },
    {
      contents: 'migrations of the same library',
      statements: [KYSELY_TABLE, "INSERT INTO kysely_migration VALUES ('001_orders', '2026')"],
      found: 'kysely_migration',
    },
    {
      contents: 'the same library without migrations',
      statements: [KYSELY_TABLE, 'CREATE TABLE orders (id integer)'],
      found: 'orders',
    },
  ])('with $contents', async ({ contents, statements, found }) => {
    const url = await createDatabaseWith(`other, ${contents}`, statements);
    const before = await objectsOf(url);
    const message = `The database of DATABASE_URL belongs to another program: its schema "public" contains ${found}. Use an empty database.`;
    for (const purpose of ['import', 'command'] as const) {
      await expect(open(url, purpose)).rejects.toThrow(message);
    }
    expect(await objectsOf(url)).toEqual(before);
  });

  test.each([
    ['a view', 'relation "users"', 'CREATE VIEW users AS SELECT 1 AS id'],
    ['a sequence', 'relation "users_by_avatar"', 'CREATE SEQUENCE users_by_avatar'],
    ['a type', 'type "users"', "CREATE TYPE users AS ENUM ('ada')"],
    [
      'a function',
      'function "continue_tag_ids"',
      "CREATE FUNCTION continue_tag_ids() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
    ],
    [
      'a table of an extension',
      'relation "tags"',
      'CREATE EXTENSION hstore',
      'CREATE TABLE tags (id integer)',
      'ALTER EXTENSION hstore ADD TABLE tags',
    ],
  ])('if %s has a name that the service needs', async (kind, object, ...statements) => {
    const url = await createDatabaseWith(`taken, ${kind}`, statements);
    const before = await objectsOf(url);
    await expect(open(url)).rejects.toThrow(
      new RegExp(
        `^Cannot migrate the database of DATABASE_URL: ${object} already exists[^\\n]+\\.$`,
      ),
    );
    expect(await objectsOf(url)).toEqual(before);
  });
});
