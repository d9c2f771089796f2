import { randomInt } from 'node:crypto';
import { rmSync, statSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import { Kysely, SqliteDialect } from 'kysely';
import type { Check, Defect } from '../kind.ts';
import type { Schema } from '../schema.ts';
import { isBusy, isDamage } from './errors.ts';
import { migrateToLatest } from './migrate.ts';
import { openFile, withPlainConnection } from './open-file.ts';

// The search index and the index of messages are derived from other tables, so damage in one of them is repaired: all its
// tables are created again, and maintenance fills them. Damage elsewhere is data that only a backup has.

/** How long to wait for the write lock. */
const LOCK_TIMEOUT_MS = 30_000;

const LOCK_RETRY_INTERVAL_MS = 5;

/** The pages that no table uses. */
const FREE_PAGES = 'the list of free pages';

/** The tables of each index. FTS5 creates more, whose names begin with `word_index_`. */
const SPACE_INDEX = [
  'dictionary',
  'public_spaces',
  'search_index',
  'search_revision',
  'spaces_to_index',
  'spaces_to_move',
  'tag_counts',
  'tag_hits',
  'tag_prefixes',
  'word_index',
];
const MESSAGE_INDEX = ['indexed_messages', 'message_index', 'message_words'];

function isOfSpaceIndex(table: string): boolean {
  return SPACE_INDEX.includes(table) || table.startsWith('word_index_');
}

function isOfMessageIndex(table: string): boolean {
  return MESSAGE_INDEX.includes(table);
}

function isOfIndex(table: string): boolean {
  return isOfSpaceIndex(table) || isOfMessageIndex(table);
}

/**
 * Reads a whole database, in about 3 s per 700 MB. If only the search index is damaged, replaces it by an empty one.
 * Blocks its thread.
 * @param isFull also compares each index with its table, and checks references
 */
export async function checkFile(file: string, isFull = false): Promise<Check> {
  const expected = await readExpectedSchema();
  const version = schemaVersion(file);
  const defects = withPlainConnection(file, (sqlite) => findDefects(sqlite, expected, isFull));
  const index = defects.filter(({ table }) => isOfIndex(table));
  const data = defects.filter(({ table }) => !isOfIndex(table));
  if (data.length > 0) {
    markAsDamaged(file, data);
  } else {
    removeDamageMark(file);
    if (index.length > 0) await replaceIndex(file, expected, version, index);
  }
  return { index, data, isRepairable: data.every(({ table }) => table === FREE_PAGES) };
}

/**
 * Replaces the search index if one of its tables is missing. Unlike `checkFile`, does not read them.
 * @returns whether it has
 */
export async function replaceIncompleteIndex(file: string): Promise<boolean> {
  const expected = await readExpectedSchema();
  const version = schemaVersion(file);
  const missing = withPlainConnection(file, (sqlite) => findMissing(sqlite, expected.tables));
  if (!missing.some(({ table }) => isOfIndex(table))) return false;
  await replaceIndex(file, expected, version, missing);
  return true;
}

// A file beside the database, so that all processes see it, also after a restart.
function damageMark(file: string): string {
  return `${file}-damaged`;
}

/** Whether a check has found damage that the service cannot repair. */
export function isMarkedAsDamaged(file: string): boolean {
  return statSync(damageMark(file), { throwIfNoEntry: false }) !== undefined;
}

function markAsDamaged(file: string, defects: readonly Defect[]): void {
  const lines = defects.map(({ table, message }) => `${table}: ${message}\n`);
  writeFileSync(damageMark(file), lines.join(''));
}

export function removeDamageMark(file: string): void {
  rmSync(damageMark(file), { force: true });
}

interface ExpectedSchema {
  tables: string[];
  /** Statements that create the empty indexes. */
  statements: { table: string; sql: string }[];
}

/** Reads the schema that all migrations create. */
async function readExpectedSchema(): Promise<ExpectedSchema> {
  const database = new Sqlite(':memory:');
  const db = new Kysely<Schema>({ dialect: new SqliteDialect({ database }) });
  try {
    await migrateToLatest(db);
    const objects = database
      .prepare<[], { table: string; sql: string }>(
        // Tables first. SQLite itself creates those of FTS5.
        `SELECT tbl_name AS "table", sql FROM sqlite_schema
          WHERE sql IS NOT NULL AND (name NOT LIKE 'word\\_index\\_%' ESCAPE '\\' OR name = 'word_index_terms')
          ORDER BY type = 'table' DESC, rowid`,
      )
      .all();
    const settings = database
      .prepare<[], { table: string; sql: string }>(
        `SELECT 'word_index' AS "table",
            format('INSERT INTO word_index (word_index, rank) VALUES (%Q, %d)', k, v) AS sql
          FROM word_index_config WHERE k <> 'version'`,
      )
      .all();
    return {
      tables: readTables(database),
      statements: [
        ...objects.filter(({ table }) => isOfIndex(table)),
        ...settings,
        ...['dictionary', 'search_index', 'message_index'].flatMap((table) =>
          copyRows(database, table),
        ),
      ],
    };
  } finally {
    await db.destroy();
  }
}

/** Returns statements that insert the rows of a table. */
function copyRows(sqlite: Sqlite.Database, table: string): ExpectedSchema['statements'] {
  const columns = sqlite.pragma(`table_info(${table})`) as { name: string }[];
  const values = columns.map(({ name }) => `quote(${name})`).join(` || ',' || `);
  return sqlite
    .prepare<[], string>(`SELECT 'INSERT INTO ${table} VALUES (' || ${values} || ')' FROM ${table}`)
    .pluck()
    .all()
    .map((sql) => ({ table, sql }));
}

function readTables(sqlite: Sqlite.Database): string[] {
  return sqlite
    .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    .pluck()
    .all();
}

/** Changes when a table is created. */
function schemaVersion(file: string): unknown {
  return withPlainConnection(file, (sqlite) => sqlite.pragma('schema_version', { simple: true }));
}

function findMissing(sqlite: Sqlite.Database, tables: readonly string[]): Defect[] {
  const found = readTables(sqlite);
  return tables
    .filter((table) => !found.includes(table))
    .map((table) => ({ table, message: 'the table is missing' }));
}

function findDefects(
  sqlite: Sqlite.Database,
  { tables }: ExpectedSchema,
  isFull: boolean,
): Defect[] {
  const pragma = isFull ? 'integrity_check' : 'quick_check';
  let defects: Defect[];
  try {
    defects = findMissing(sqlite, tables);
  } catch (error) {
    if (!isDamage(error)) throw error;
    // Without the schema, SQLite finds no table.
    return [{ table: 'sqlite_schema', message: (error as Error).message }];
  }
  const found = checkPages(sqlite, pragma);
  if (found !== 'ok') {
    const [freePages] = /^Freelist: .*$/m.exec(found) ?? [];
    if (freePages) defects.push({ table: FREE_PAGES, message: freePages });
    // `word_index_terms` reads other tables.
    for (const table of readTables(sqlite).filter((name) => name !== 'word_index_terms')) {
      const message = checkPages(sqlite, `${pragma}(${table})`);
      if (message !== 'ok') defects.push({ table, message: message.replace(/\s+/g, ' ') });
    }
  }
  if (isFull && defects.length === 0) {
    const broken = sqlite.pragma('foreign_key_check') as { table: string; parent: string }[];
    for (const { table, parent } of broken.slice(0, 10)) {
      defects.push({ table, message: `a row refers to a missing row of ${parent}` });
    }
  }
  return defects;
}

/** Returns `ok`, or the first result of a check, which can have several lines. */
function checkPages(sqlite: Sqlite.Database, pragma: string): string {
  try {
    return String(sqlite.pragma(pragma, { simple: true }));
  } catch (error) {
    if (!isDamage(error)) throw error;
    return (error as Error).message;
  }
}

/**
 * Replaces the damaged indexes by empty ones, and enqueues all spaces if theirs is one of them, in one transaction.
 * @param version the schema version before the defects were found; another process may have repaired them since
 */
async function replaceIndex(
  file: string,
  expected: ExpectedSchema,
  version: unknown,
  defects: readonly Defect[],
): Promise<void> {
  const damaged = defects.map(({ table }) => table);
  if (damaged.some((table) => table.startsWith('word_index'))) damaged.push('word_index');
  const indexes = [isOfSpaceIndex, isOfMessageIndex].filter((isOf) => damaged.some(isOf));
  const isReplaced = (table: string) => indexes.some((isOf) => isOf(table));
  try {
    await createIndexes(file, expected, version, isReplaced, (table) => damaged.includes(table));
  } catch (error) {
    if (!isDamage(error)) throw error;
    await createIndexes(file, expected, version, isReplaced, isReplaced);
  }
}

/** @param isDamaged whether SQLite must not read a table, not even to free its pages */
async function createIndexes(
  file: string,
  { statements }: ExpectedSchema,
  version: unknown,
  isReplaced: (table: string) => boolean,
  isDamaged: (table: string) => boolean,
): Promise<void> {
  const sqlite = openFile(file);
  try {
    await begin(sqlite);
    if (sqlite.pragma('schema_version', { simple: true }) !== version) return;
    forgetTables(sqlite, isDamaged);
    for (const table of readTables(sqlite).filter(isReplaced)) {
      sqlite.exec(`DROP TABLE IF EXISTS ${table}`);
    }
    for (const { table, sql } of statements) if (isReplaced(table)) sqlite.exec(sql);
    if (isReplaced('public_spaces')) enqueueSpaces(sqlite);
    sqlite.exec('COMMIT');
  } finally {
    sqlite.close();
  }
}

/** Prepares the empty index of spaces to be filled. */
function enqueueSpaces(sqlite: Sqlite.Database): void {
  // Greater than any that a response in a cache or a cursor has.
  sqlite.exec(`INSERT INTO search_revision VALUES (${Date.now() * 1000})`);
  sqlite.exec(`UPDATE dictionary SET version = ${randomInt(2 ** 47)}`);
  sqlite.exec('UPDATE erased_spaces SET key = NULL');
  sqlite.exec(`INSERT INTO spaces_to_index (space_pk)
    SELECT pk FROM spaces WHERE visibility = 'public'
      AND pk NOT IN (SELECT space_pk FROM erased_spaces)`);
}

/** Waits for the write lock without blocking the thread, which may hold it. */
async function begin(sqlite: Sqlite.Database): Promise<void> {
  const deadline = performance.now() + LOCK_TIMEOUT_MS;
  for (;;) {
    try {
      sqlite.exec('BEGIN IMMEDIATE');
      return;
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error;
      await sleep(LOCK_RETRY_INTERVAL_MS);
    }
  }
}

/**
 * Removes tables from the schema. Dropping a damaged table would follow wrong page numbers, and overwrite pages of
 * others. Its pages stay unused in the file until a VACUUM.
 */
function forgetTables(sqlite: Sqlite.Database, isForgotten: (table: string) => boolean): void {
  const tables = readTables(sqlite).filter((table) => isOfIndex(table) && isForgotten(table));
  sqlite.unsafeMode(true);
  sqlite.pragma('writable_schema = ON');
  for (const table of tables) {
    sqlite.exec(`DELETE FROM sqlite_schema WHERE tbl_name = '${table}'`);
  }
  // Also reads the schema again.
  sqlite.pragma('writable_schema = RESET');
  sqlite.unsafeMode(false);
}
