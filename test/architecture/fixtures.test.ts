import { readFileSync } from 'node:fs';
import Sqlite from 'better-sqlite3';
import { Kysely, SqliteDialect } from 'kysely';
import { afterAll, expect, test } from 'vitest';
import { type Operation, operations } from '../../server/contract.ts';
import type { Schema } from '../../server/database/schema.ts';
import { changes } from '../../verification/changes.ts';
import { type DeclaredResponse, declaredResponses } from '../../verification/declared-responses.ts';
import { itemSchemaOf } from '../../verification/preparation.ts';
import { existingIds, existingItems } from '../../verification/world.ts';
import { notRebuilt, readIndexes } from '../support/integrity.ts';
import { inputNamesOf } from '../support/requests.ts';
import { columnsOf, tablesOf } from '../support/tables.ts';
import { notInFacts, readFacts } from '../trials/torture/ledger.ts';
import { isRead, neverDrawn } from '../trials/torture/traffic.ts';
import { writeShares } from '../trials/torture/writes.ts';

// A new operation or column needs entries in several test fixtures. Without these tests, a missing entry would only
// show in `npm run contract` or in a torture trial.

const schema = new URL('../../server/database/sqlite/schema.sql', import.meta.url);
const sqlite = new Sqlite(':memory:').exec(readFileSync(schema, 'utf8'));
afterAll(() => {
  sqlite.close();
});

test('every operation is in the traffic of the torture trials', () => {
  const ids = operations.map(({ operationId }) => operationId);
  const writes = Object.keys(writeShares);
  const excluded = Object.keys(neverDrawn);
  const reads = operations.filter(isRead).map(({ operationId }) => operationId);
  const missing = operations.filter(
    ({ operationId }) => ![...writes, ...excluded, ...reads].includes(operationId),
  );
  expect(
    missing.map(
      ({ operationId }) =>
        `Add ${operationId} to test/trials/torture/writes.ts, or to neverDrawn in traffic.ts`,
    ),
  ).toEqual([]);
  const unneeded = [...writes, ...excluded].filter((id) => !ids.includes(id) || reads.includes(id));
  expect(
    unneeded.map((id) => `Remove ${id} from test/trials/torture/writes.ts or traffic.ts`),
  ).toEqual([]);
});

test('the contract check can provoke every declared response', () => {
  const missing = declaredResponses.filter(
    (response) => response.isFirstExample && !isProvoked(response),
  );
  expect(
    missing.map(
      ({ id }) =>
        `'${id}' does not occur with the example request. If the operation cannot return this status, remove it from ` +
        'openapi.yaml. Otherwise add a change to verification/changes.ts.',
    ),
  ).toEqual([]);
});

/** Whether the change for a response, or the example request itself, provokes it. */
function isProvoked({ id, operation: { operationId }, status }: DeclaredResponse): boolean {
  if (Object.hasOwn(changes, id)) return true;
  const operation = operations.find((each) => each.operationId === operationId) as Operation;
  const inputNames = inputNamesOf(operation);
  const acceptsJson = operation.bodyType === 'application/json';
  const hasIds = inputNames.some((name) => Object.hasOwn(existingIds, name));
  switch (status) {
    case '400':
      return acceptsJson || hasIds || inputNames.includes('limit');
    case '403':
      // The token of a program, whose scope is moderate.
      return (
        operation.scope !== 'moderate' &&
        operation.responses[status]?.['x-problem-codes']?.every((code) =>
          ['insufficient_scope', 'session_required'].includes(code),
        ) === true
      );
    case '404':
      return hasIds;
    case '413':
    case '415':
      return acceptsJson;
    case '429':
      return operation.isPublicRead || operation.isOwnRead;
    default:
      return ['200', '201', '401', '408', '431', '500', '503'].includes(status);
  }
}

test('the contract check has an existing id for every required parameter that is an id', () => {
  // The examples of other parameters match the data of `openWorld` as they are.
  const known = Object.keys(existingIds);
  const missing = operations.flatMap((operation) =>
    operation.parameters
      .filter(({ name, required }) => required && name.endsWith('_id') && !known.includes(name))
      .map(({ name }) => `${operation.operationId} needs ${name}`),
  );
  expect(
    missing.map(
      (each) =>
        `${each}: create it in openWorld (verification/world.ts) and add it to existingIds there`,
    ),
  ).toEqual([]);
});

test('the contract check has existing items only for schemas of lists', () => {
  const schemas = operations.map((operation) => itemSchemaOf(operation));
  expect(Object.keys(existingItems).filter((name) => !schemas.includes(name))).toEqual([]);
});

/** Returns the columns that the statements of `read` select, as `table.column`. */
async function columnsReadBy(read: (sqlite: Sqlite.Database) => unknown): Promise<Set<string>> {
  const columns = new Set<string>();
  const observed = new Proxy(sqlite, {
    get(target, property) {
      if (property !== 'prepare') {
        const value = Reflect.get(target, property);
        return typeof value === 'function' ? value.bind(target) : value;
      }
      return (sql: string) => {
        const statement = target.prepare(sql);
        const results = statement.reader ? statement.columns() : [];
        for (const { table, column } of results) columns.add(`${table}.${column}`);
        return statement;
      };
    },
  });
  await read(observed);
  return columns;
}

/** Returns the columns of all tables of a kind, as `table.column`. */
function columnNamesOf(kind: Parameters<typeof tablesOf>[0], includesKeys: boolean): string[] {
  return tablesOf(kind).flatMap((table) =>
    columnsOf(sqlite, table)
      .filter(({ isKey }) => includesKeys || !isKey)
      .map(({ name }) => `${table}.${name}`),
  );
}

test.each([
  {
    name: 'the ledger compares every stored column',
    columns: columnNamesOf('stored', false),
    read: await columnsReadBy((database) =>
      readFacts(new Kysely<Schema>({ dialect: new SqliteDialect({ database }) })),
    ),
    excluded: Object.values(notInFacts).flat(),
    reader: 'readFacts',
    exclusions: 'notInFacts of test/trials/torture/ledger.ts',
  },
  {
    name: 'the check of the search indexes compares every column',
    columns: columnNamesOf('index', true),
    read: await columnsReadBy(readIndexes),
    excluded: Object.values(notRebuilt).flat(),
    reader: 'readIndexes',
    exclusions: 'notRebuilt of test/support/integrity.ts',
  },
])('$name', ({ columns, read, excluded, reader, exclusions }) => {
  expect(columns).not.toEqual([]);
  const missing = columns.filter((each) => !read.has(each) && !excluded.includes(each));
  expect(
    missing.map((column) => `${column} is neither read by ${reader} nor listed in ${exclusions}`),
  ).toEqual([]);
  const unneeded = excluded.filter((each) => read.has(each) || !columns.includes(each));
  expect(unneeded.map((column) => `Remove ${column} from ${exclusions}`)).toEqual([]);
});

test('every table has a kind in test/support/tables.ts', () => {
  const tables = sqlite
    .prepare(
      `SELECT name FROM sqlite_schema
       WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'word_index%'`,
    )
    .pluck()
    .all() as string[];
  const known: string[] = [...tablesOf('stored'), ...tablesOf('index'), ...tablesOf('internal')];
  const missing = tables.filter((table) => !known.includes(table));
  expect(missing.map((table) => `Add ${table} to test/support/tables.ts`)).toEqual([]);
  expect(known.filter((table) => !tables.includes(table))).toEqual([]);
});
