import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkPlans } from './query-plans.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'query-plans-'));
});
afterAll(() => rm(folder, { recursive: true }));

const schema = `
  CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
  CREATE TABLE letters (
    id INTEGER PRIMARY KEY,
    sender INTEGER NOT NULL REFERENCES people,
    sent_at TEXT NOT NULL
  );
  CREATE INDEX letters_by_sender ON letters (sender);
  CREATE TABLE settings (value INTEGER NOT NULL);
  CREATE VIRTUAL TABLE texts USING fts5 (words);
`;
const noJustifications = { small_tables: {}, exceptions: {} };
let databases = 0;

function errorsOf(
  sql: string,
  justifications = noJustifications,
  isComplete = false,
  moreSchema = '',
): string[] {
  const file = join(folder, `${++databases}.sqlite`);
  new Sqlite(file).exec(schema + moreSchema).close();
  return checkPlans(file, [{ sql, origin: 'server/a.ts' }], justifications, isComplete);
}

test.each([
  'SELECT name FROM people WHERE id = ?',
  'SELECT max(id) FROM people',
  'SELECT id FROM letters WHERE sender = ? ORDER BY id DESC LIMIT ?',
  'SELECT name FROM letters JOIN people ON people.id = sender WHERE sender = ?',
  'SELECT rowid FROM texts WHERE texts MATCH ? AND rowid > ? ORDER BY rowid',
  'DELETE FROM texts WHERE rowid = ?',
  "INSERT INTO people (name) VALUES ('a'), ('b')",
  'WITH found AS (SELECT id FROM people WHERE id < ? LIMIT 5) SELECT count(*) FROM found',
  'PRAGMA optimize',
])('accepts a statement that neither scans nor sorts a large table: %s', (sql) => {
  expect(errorsOf(sql)).toEqual([]);
});

test.each([
  ['SELECT id FROM people WHERE name = ?', 'SCAN people'],
  ['SELECT count(*) FROM letters', 'SCAN letters'],
  ['SELECT p.id FROM people AS p WHERE p.name = ?', 'SCAN p'],
  ['SELECT "p"."id" FROM "people" "p" WHERE "p"."name" = ?', 'SCAN p'],
  ['SELECT rowid FROM texts', 'SCAN texts VIRTUAL TABLE INDEX 0:'],
  ['UPDATE letters SET sent_at = ? WHERE sent_at < ?', 'SCAN letters'],
  ['DELETE FROM people WHERE name = ?', 'SCAN people'],
  ['SELECT id FROM letters WHERE sender = ? ORDER BY sent_at', 'USE TEMP B-TREE FOR ORDER BY'],
])('reports a scan or sort with its file and plan step: %s', (sql, step) => {
  const [error, ...others] = errorsOf(sql);
  expect(error).toContain(`server/a.ts reads or sorts a whole large table: ${step}\n  ${sql}\n`);
  expect(others).toEqual([]);
});

test('reports an automatic index', () => {
  const [error, ...others] = errorsOf(
    'SELECT a.id FROM letters a JOIN people b ON b.name = a.sent_at',
    { ...noJustifications, small_tables: { letters: 'Few are written.' } },
  );
  expect(error).toContain('SEARCH b USING AUTOMATIC COVERING INDEX (name=?)');
  expect(others).toEqual([]);
});

test('reports a trigger that reads a whole table', () => {
  const trigger = `
    CREATE TRIGGER renamed AFTER UPDATE OF name ON people
      BEGIN UPDATE letters SET sent_at = sent_at WHERE sent_at = NEW.name; END;
  `;
  const [error, ...others] = errorsOf('SELECT 1', noJustifications, false, trigger);
  expect(error).toContain('The trigger renamed reads or sorts a whole large table: SCAN letters\n');
  expect(others).toEqual([]);
});

test('reports a foreign key without an index when its parent is deleted', () => {
  const child =
    'CREATE TABLE stamps (letter INTEGER NOT NULL REFERENCES letters ON DELETE CASCADE)';
  const [error, ...others] = errorsOf(
    'DELETE FROM letters WHERE id = ?',
    noJustifications,
    false,
    child,
  );
  expect(error).toContain('server/a.ts reads or sorts a whole large table: SCAN stamps\n');
  expect(others).toEqual([]);
});

describe('A justification', () => {
  const small = { ...noJustifications, small_tables: { settings: 'Has one row.' } };
  const exceptions = { 'server/a.ts': { 'SCAN people': 'Has its reason.' } };

  test('of a small table allows every statement to read it', () => {
    const sql = 'SELECT value FROM settings ORDER BY value';
    expect(errorsOf(sql)).toHaveLength(2);
    expect(errorsOf(sql, small)).toEqual([]);
  });

  test('of a step allows it in one file', () => {
    const sql = 'SELECT id FROM people WHERE name = ?';
    expect(errorsOf(sql, { ...noJustifications, exceptions }, true)).toEqual([]);
    const elsewhere = { 'server/b.ts': exceptions['server/a.ts'] };
    expect(errorsOf(sql, { ...noJustifications, exceptions: elsewhere })).toHaveLength(1);
  });

  test('is an error if no statement needs it or its table does not exist', () => {
    const sql = 'SELECT 1';
    expect(errorsOf(sql, { ...noJustifications, exceptions }, false)).toEqual([]);
    expect(errorsOf(sql, { ...noJustifications, exceptions }, true)).toEqual([
      'Remove "SCAN people" of server/a.ts from test/query-plans.yaml: no statement has this step.',
    ]);
    expect(errorsOf(sql, { ...noJustifications, small_tables: { gone: 'Was small.' } })).toEqual([
      'Remove gone from test/query-plans.yaml: there is no such table.',
    ]);
  });
});
