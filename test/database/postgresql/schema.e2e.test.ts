import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Migrator } from 'kysely/migration';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eraseDeletedRows } from '../../../server/account-lifecycle/erasure.ts';
import type { Engine } from '../../../server/database/engine.ts';
import { connect } from '../../../server/database/postgresql/dialect.ts';
import { openPostgresql } from '../../../server/database/postgresql/engine.ts';
import { migrations } from '../../../server/database/postgresql/migrations/index.ts';
import { openPool } from '../../../server/database/postgresql/pool.ts';
import { openSqlite } from '../../../server/database/sqlite/engine.ts';
import { runCommand } from '../../support/commands.ts';
import {
  databaseUrlOf,
  execute,
  type PostgresqlServer,
  startPostgresql,
} from '../../support/postgresql.ts';
import { tablesOf } from '../../support/tables.ts';

/** On PostgreSQL, they are in the copy of the search index. */
const INDEX_TABLES = [...tablesOf('index'), 'search_revision', 'word_index'];

/** Tables that only one kind of database needs. */
const ONLY_SQLITE = ['last_transaction', ...INDEX_TABLES];
const ONLY_POSTGRESQL = [
  'maintenance_lease',
  'rate_limits',
  'search_changes',
  'search_changes_bound',
  'search_epoch',
];

let server: PostgresqlServer;
beforeAll(async () => {
  server = await startPostgresql();
});
afterAll(() => server[Symbol.asyncDispose]());

test('Both kinds of databases have the same tables and columns', async () => {
  const options = { runsMaintenance: false };
  await using postgresql = await openPostgresql(await server.createDatabase('empty'), options);
  await using folder = await mkdtempDisposable(join(tmpdir(), 'schema-'));
  await using sqlite = await openSqlite(join(folder.path, 'empty.sqlite'), options);
  expect(await columnsOf(postgresql, ONLY_POSTGRESQL)).toEqual(
    await columnsOf(sqlite, ONLY_SQLITE),
  );
});

test('Spaces of an account that was being deleted during the upgrade to copies of the search index need no work', async () => {
  const url = await server.createDatabase('upgraded');
  const db = connect(openPool(url));
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
  await migrator.migrateTo('0014-device-names');
  await db.destroy();
  await execute(
    url,
    `INSERT INTO users (user_id, username, username_key, username_skeleton, email, email_key, bio, is_verified, created_at, updated_at)
      VALUES ('u', 'u', 'u', 'u', 'u', 'u', '', 0, '', '')`,
  );
  await execute(
    url,
    `INSERT INTO spaces (space_id, creator_pk, title, description, visibility, participant_count, created_at)
      SELECT 's', pk, '', '', 'public', 1, '' FROM users`,
  );
  await execute(url, 'INSERT INTO spaces_to_move SELECT pk FROM spaces');
  await using engine = await openPostgresql(url, { runsMaintenance: false });
  expect(await eraseDeletedRows(engine)).toBe(true);
});

test('A migration beside transactions of other servers waits for them, without a deadlock, and says what it does', async () => {
  const url = await server.createDatabase('used');
  const db = connect(openPool(url));
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
  await migrator.migrateTo('0017-search-epoch');
  await db.destroy();
  // 0018 locks `spaces`, and then 0019 locks `users`.
  let isStopping = false;
  const use = async () => {
    const client = new pg.Client(url);
    await client.connect();
    while (!isStopping) {
      await client.query('BEGIN');
      await client.query('SELECT pk FROM users LIMIT 1');
      await sleep(20);
      await client.query('SELECT pk FROM spaces LIMIT 1');
      await client.query('COMMIT');
    }
    await client.end();
  };
  const users = [use(), use(), use(), use()];
  await using folder = await mkdtempDisposable(join(tmpdir(), 'migrate-'));
  const settings = { DATABASE_URL: url, DATA_DIR: folder.path };
  const missing = Object.keys(migrations).filter((name) => name > '0017-search-epoch');
  const planned = await runCommand('migrate', ['--dry-run'], settings);
  expect(planned.stdout).toBe(`Missing migrations: ${missing.join(', ')}\n`);
  const migrated = await runCommand('migrate', [], settings);
  isStopping = true;
  await Promise.all(users);
  expect(migrated).toMatchObject({ code: 0, stdout: 'The database has been migrated.\n' });
  expect(migrated.stderr).toContain(`Migrating: 0018-event-clocks, ${missing.length - 1} left\n`);
  expect(migrated.stderr).toContain(`Migrating: ${missing.at(-1)}, 0 left\n`);
  const again = await runCommand('migrate', [], settings);
  expect(again.stdout).toBe('The database needs no migrations.\n');
});

test('A migration names the programs that it waits for', async () => {
  const url = await server.createDatabase('held');
  const db = connect(openPool(url));
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
  await migrator.migrateTo('0019-suspensions');
  await db.destroy();
  const client = new pg.Client({ connectionString: url, application_name: 'a long report' });
  await client.connect();
  await client.query('BEGIN');
  await client.query('SELECT pk FROM users LIMIT 1');
  const waits: string[] = [];
  const opening = openPostgresql(url, {
    runsMaintenance: false,
    onLockWait: (message) => waits.push(message),
  });
  await expect.poll(() => waits.join()).toContain('waits for other programs: a long report of ');
  await client.query('COMMIT');
  await using _ = await opening;
  await client.end();
});

test('Servers that start at the same time migrate an empty database only once', async () => {
  const url = await server.createDatabase('shared');
  const open = () => openPostgresql(url, { runsMaintenance: false });
  const engines = await Promise.allSettled(Array.from({ length: 6 }, open));
  for (const engine of engines) if (engine.status === 'fulfilled') await engine.value.close();
  expect(engines.map(({ status }) => status)).toEqual(Array(6).fill('fulfilled'));
});

describe('A database is rejected', () => {
  beforeAll(() => execute(server.url, 'CREATE ROLE "other user" LOGIN PASSWORD \'secret\''));

  const open = (url: string) => openPostgresql(url, { runsMaintenance: false });
  const asOtherUser = (url: string) => {
    const other = new URL(url);
    other.username = 'other user';
    return other.href;
  };

  test('if the user may not create tables in its schema', async () => {
    const url = await server.createDatabase('foreign');
    await expect(open(asOtherUser(url))).rejects.toThrow(
      'In the database of DATABASE_URL, the user "other user" may not create tables in the schema public. Run GRANT CREATE ON SCHEMA public TO "other user".',
    );
    await execute(url, 'GRANT CREATE ON SCHEMA public TO "other user"');
    await (await open(asOtherUser(url))).close();
    // The privilege is needed only for migrations.
    await execute(url, 'REVOKE CREATE ON SCHEMA public FROM "other user"');
    await (await open(asOtherUser(url))).close();
  });

  test('if its search_path has no schema that exists', async () => {
    const url = await server.createDatabase('pathless');
    await execute(url, 'ALTER DATABASE pathless SET search_path = spaces');
    await expect(open(url)).rejects.toThrow(
      'The database of DATABASE_URL has no schema that the user "space-service" may use: its search_path is spaces. Create the schema, for example with CREATE SCHEMA AUTHORIZATION "space-service", or correct the search_path.',
    );
  });

  test.each(['LATIN1', 'SQL_ASCII'])('if its encoding is %s', async (encoding) => {
    const name = encoding.toLowerCase();
    await execute(
      server.url,
      `CREATE DATABASE ${name} TEMPLATE template0 LOCALE 'C' ENCODING '${encoding}'`,
    );
    await expect(open(databaseUrlOf(server.url, name))).rejects.toThrow(
      `The database of DATABASE_URL has the encoding ${encoding}. Create another one with createdb --encoding UTF8 --template template0, and set DATABASE_URL to it.`,
    );
  });
});

async function columnsOf({ db }: Engine, except: string[]) {
  const tables = await db.introspection.getTables();
  const names = tables.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(except));
  return tables
    .filter(({ name }) => !except.includes(name) && !/^(kysely_|word_index_)/.test(name))
    .flatMap(({ name, columns }) => columns.map((column) => `${name}.${column.name}`))
    .sort();
}
