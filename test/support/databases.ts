import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { sql } from 'kysely';
import pg from 'pg';
import type { Engine } from '../../server/database/engine.ts';
import { openSqlite } from '../../server/database/sqlite/engine.ts';
import { transact } from '../../server/database/transaction.ts';
import { databaseFile, withDatabase } from './integrity.ts';
import { createDatabase, dropDatabase, execute, POSTGRESQL_URL, TEMPLATE } from './postgresql.ts';

/** An empty database for a test. Disposing deletes it. */
export interface TestDatabase extends AsyncDisposable {
  /** Environment variables of a service that uses it. */
  settings: Record<string, string>;
  /** Its location for `openDatabase`, without the data folder. */
  location: { databaseUrl?: string };
}

export async function createTestDatabase(): Promise<TestDatabase> {
  const url = process.env[POSTGRESQL_URL];
  if (!url) return { settings: {}, location: {}, async [Symbol.asyncDispose]() {} };
  const name = `test ${randomUUID()}`;
  const databaseUrl = await createDatabase(url, name, TEMPLATE);
  // Each database needs its own secrets. This copy has those of the template.
  await execute(databaseUrl, 'UPDATE secrets SET value = sha256(gen_random_uuid()::text::bytea)');
  return {
    settings: { DATABASE_URL: databaseUrl },
    location: { databaseUrl },
    [Symbol.asyncDispose]: () => dropDatabase(url, name),
  };
}

let emptyFile: Promise<Buffer> | undefined;

/** Writes an empty SQLite database into a data folder, because migrating a new one takes ten times as long. */
export async function writeEmptyDatabase(dataDir: string): Promise<void> {
  emptyFile ??= migrateNewFile();
  const file = databaseFile(dataDir);
  await writeFile(file, await emptyFile);
  withDatabase(file, (sqlite) => sqlite.exec('UPDATE secrets SET value = randomblob(32)'));
}

async function migrateNewFile(): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'space-service-empty-'));
  try {
    const file = databaseFile(folder);
    await (await openSqlite(file, { runsMaintenance: false })).close();
    return await readFile(file);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Whether tests use PostgreSQL. A test for one kind of database is skipped on the other one. */
export const isPostgresql = process.env[POSTGRESQL_URL] !== undefined;

/** Codes of errors for which `Engine.isUnavailable` returns true. */
export const UNAVAILABLE_CODES: readonly [string, ...string[]] = isPostgresql
  ? ['53100', '55P03', '57P01', '58030', '25006']
  : ['SQLITE_FULL', 'SQLITE_BUSY', 'SQLITE_IOERR_READ', 'SQLITE_IOERR_WRITE', 'SQLITE_READONLY'];

/** The code of an error that only a bug in the service causes. */
export const UNEXPECTED_CODE = isPostgresql ? '42703' : 'SQLITE_ERROR';

/** Returns an error like those of the database driver. */
export function databaseError(message: string, code: string): Error {
  if (!isPostgresql) return new Sqlite.SqliteError(message, code);
  return Object.assign(new pg.DatabaseError(message, message.length, 'error'), { code });
}

/** Makes all writes fail, like a full disk or a standby. */
export async function makeReadOnly(engine: Engine): Promise<void> {
  if (!isPostgresql) {
    await transact(engine, (trx) => sql`PRAGMA query_only = ON`.execute(trx));
    return;
  }
  const { db } = engine;
  const { rows } = await sql<{ name: string }>`SELECT current_database() AS name`.execute(db);
  const name = rows[0]?.name as string;
  await sql`ALTER DATABASE ${sql.id(name)} SET default_transaction_read_only = on`.execute(db);
  // Open connections keep the old setting.
  await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = ${name} AND pid <> pg_backend_pid()`.execute(db);
  await sql`SET default_transaction_read_only = on`.execute(db);
}
