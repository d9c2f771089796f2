import { readFileSync } from 'node:fs';
import Sqlite from 'better-sqlite3';
import { afterAll, expect, test } from 'vitest';
import { operations } from '../../server/contract.ts';
import { answers } from '../contract/answers.ts';
import { existing, isProvoked, literalParameters } from '../contract/preparation.ts';
import { notRebuilt, readIndexes } from '../support/integrity.ts';
import { parametersOf } from '../support/requests.ts';
import { columnsOf, tablesOf } from '../support/tables.ts';
import { notInFacts, readFacts } from '../torture/ledger.ts';
import { isRead, notDrawn, writeShares } from '../torture/traffic.ts';

// What an operation or a column needs elsewhere would otherwise be missed only by `npm run contract` or a torture trial.

const schema = new URL('../../server/database/sqlite/schema.sql', import.meta.url);
const sqlite = new Sqlite(':memory:').exec(readFileSync(schema, 'utf8'));
afterAll(() => {
  sqlite.close();
});

test('every operation is in the traffic of the torture trials', () => {
  const ids = operations.map(({ operationId }) => operationId);
  const written = Object.keys(writeShares);
  const left = Object.keys(notDrawn);
  const read = operations.filter(isRead).map(({ operationId }) => operationId);
  const missing = ids.filter((id) => ![...written, ...left, ...read].includes(id));
  expect(missing.map((id) => `${id} has no traffic in test/torture/traffic.ts`)).toEqual([]);
  const needless = [...written, ...left].filter((id) => !ids.includes(id) || read.includes(id));
  expect(needless.map((id) => `Remove ${id} from test/torture/traffic.ts`)).toEqual([]);
});

test('the contract check knows how to provoke every answer', () => {
  const missing = answers.filter((answer) => !answer.id.includes('(') && !isProvoked(answer));
  expect(
    missing.map(({ id }) => `'${id}' is missing in the changes of test/contract/preparation.ts`),
  ).toEqual([]);
});

test('the contract check has something for every parameter', () => {
  const known = [...Object.keys(existing), ...literalParameters];
  const missing = operations.flatMap((operation) =>
    parametersOf(operation)
      .filter(({ name, required }) => required && !known.includes(name))
      .map(({ name }) => `${operation.operationId} needs ${name}`),
  );
  expect(
    missing.map(
      (each) =>
        `${each}: add it to openWorld (test/contract/world.ts) and to what exists (test/contract/preparation.ts)`,
    ),
  ).toEqual([]);
});

/** The columns whose values the statements of `read` return, as `table.column`. */
function columnsReadBy(read: (sqlite: Sqlite.Database) => unknown): Set<string> {
  const columns = new Set<string>();
  const observed = new Proxy(sqlite, {
    get(target, property) {
      if (property !== 'prepare') {
        const value = Reflect.get(target, property);
        return typeof value === 'function' ? value.bind(target) : value;
      }
      return (sql: string) => {
        const statement = target.prepare(sql);
        for (const { table, column } of statement.columns()) columns.add(`${table}.${column}`);
        return statement;
      };
    },
  });
  read(observed);
  return columns;
}

function namesOf(kind: Parameters<typeof tablesOf>[0], hasKeys: boolean): string[] {
  return tablesOf(kind).flatMap((table) =>
    columnsOf(sqlite, table)
      .filter(({ isKey }) => hasKeys || !isKey)
      .map(({ name }) => `${table}.${name}`),
  );
}

test.each([
  {
    name: 'the ledger compares every stored column',
    columns: namesOf('stored', false),
    read: columnsReadBy(readFacts),
    leftOut: Object.values(notInFacts).flat(),
    missing: (column: string) =>
      `${column} is neither read by readFacts nor listed in notInFacts of test/torture/ledger.ts`,
    needless: (column: string) => `Remove ${column} from notInFacts of test/torture/ledger.ts`,
  },
  {
    name: 'the check of the search indexes compares every column of theirs',
    columns: namesOf('index', true),
    read: columnsReadBy(readIndexes),
    leftOut: Object.values(notRebuilt).flat(),
    missing: (column: string) =>
      `${column} is neither read by readIndexes nor listed in notRebuilt of test/support/integrity.ts`,
    needless: (column: string) => `Remove ${column} from notRebuilt of test/support/integrity.ts`,
  },
])('$name', ({ columns, read, leftOut, missing, needless }) => {
  expect(columns).not.toEqual([]);
  const forgotten = columns.filter((each) => !read.has(each) && !leftOut.includes(each));
  expect(forgotten.map(missing)).toEqual([]);
  const unneeded = leftOut.filter((each) => read.has(each) || !columns.includes(each));
  expect(unneeded.map(needless)).toEqual([]);
});

test('every table is of a kind', () => {
  const tables = sqlite
    .prepare(
      `SELECT name FROM sqlite_schema
       WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'word_index%'`,
    )
    .pluck()
    .all() as string[];
  const known = [...tablesOf('stored'), ...tablesOf('index'), ...tablesOf('internal')];
  const missing = tables.filter((table) => !known.includes(table));
  expect(missing.map((table) => `${table} is of no kind in test/support/tables.ts`)).toEqual([]);
  expect(known.filter((table) => !tables.includes(table))).toEqual([]);
});
