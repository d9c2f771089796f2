import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findFaults } from './query-plans.ts';

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
const none = { small_tables: {}, exceptions: {} };
let databases = 0;

function faultsOf(sql: string, justified = none, isComplete = false, more = ''): string[] {
  const file = join(folder, `${++databases}.sqlite`);
  new Sqlite(file).exec(schema + more).close();
  return findFaults(file, [{ sql, origin: 'server/a.ts' }], justified, isComplete);
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
])('accepts a statement that reads off an index: %s', (sql) => {
  expect(faultsOf(sql)).toEqual([]);
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
])('names the file and the step: %s', (sql, step) => {
  const [fault, ...others] = faultsOf(sql);
  expect(fault).toContain(`server/a.ts reads or sorts a whole large table: ${step}\n  ${sql}\n`);
  expect(others).toEqual([]);
});

test('names an index that SQLite builds for one execution', () => {
  const [fault, ...others] = faultsOf(
    'SELECT a.id FROM letters a JOIN people b ON b.name = a.sent_at',
    { ...none, small_tables: { letters: 'Few are written.' } },
  );
  expect(fault).toContain('SEARCH b USING AUTOMATIC COVERING INDEX (name=?)');
  expect(others).toEqual([]);
});

test('names a trigger that reads a whole table', () => {
  const more = `
    CREATE TRIGGER renamed AFTER UPDATE OF name ON people
      BEGIN UPDATE letters SET sent_at = sent_at WHERE sent_at = NEW.name; END;
  `;
  const [fault, ...others] = faultsOf('SELECT 1', none, false, more);
  expect(fault).toContain('The trigger renamed reads or sorts a whole large table: SCAN letters\n');
  expect(others).toEqual([]);
});

test('names a table whose rows refer to deleted ones without an index', () => {
  const more = 'CREATE TABLE stamps (letter INTEGER NOT NULL REFERENCES letters ON DELETE CASCADE)';
  const [fault, ...others] = faultsOf('DELETE FROM letters WHERE id = ?', none, false, more);
  expect(fault).toContain('server/a.ts reads or sorts a whole large table: SCAN stamps\n');
  expect(others).toEqual([]);
});

describe('A justification', () => {
  const small = { ...none, small_tables: { settings: 'Has one row.' } };
  const exceptions = { 'server/a.ts': { 'SCAN people': 'Has its reason.' } };

  test('of a small table allows every statement to read it', () => {
    const sql = 'SELECT value FROM settings ORDER BY value';
    expect(faultsOf(sql)).toHaveLength(2);
    expect(faultsOf(sql, small)).toEqual([]);
  });

  test('of a step allows it in one file', () => {
    const sql = 'SELECT id FROM people WHERE name = ?';
    expect(faultsOf(sql, { ...none, exceptions }, true)).toEqual([]);
    const elsewhere = { 'server/b.ts': exceptions['server/a.ts'] };
    expect(faultsOf(sql, { ...none, exceptions: elsewhere })).toHaveLength(1);
  });

  test('has to go once no statement needs it, or the table is gone', () => {
    const sql = 'SELECT 1';
    expect(faultsOf(sql, { ...none, exceptions }, false)).toEqual([]);
    expect(faultsOf(sql, { ...none, exceptions }, true)).toEqual([
      'Remove "SCAN people" of server/a.ts from test/query-plans.yaml: no statement has this step.',
    ]);
    expect(faultsOf(sql, { ...none, small_tables: { gone: 'Was small.' } })).toEqual([
      'Remove gone from test/query-plans.yaml: there is no such table.',
    ]);
  });
});
