import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDatabase } from '../../../server/database/open.ts';
import { startApp } from '../../support/app.ts';
import { runProgram, startProgram } from '../../support/commands.ts';
import { EX_CONFIG, EX_TEMPFAIL } from '../../support/exit-codes.ts';
import { freePort } from '../../support/ports.ts';
import {
  execute,
  PASSWORD,
  type PostgresqlServer,
  query,
  startPostgresql,
  USER,
} from '../../support/postgresql.ts';
import { startSwitchingProxy } from '../../support/switching-proxy.ts';

let dataDir: string;
let server: PostgresqlServer;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'postgresql-start-'));
  server = await startPostgresql();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await rm(dataDir, { recursive: true });
});

const runMain = async (databaseUrl: string) =>
  runProgram('start', [], {
    DATA_DIR: dataDir,
    PORT: String(await freePort()),
    LOG_LEVEL: 'silent',
    DATABASE_URL: databaseUrl,
  });

/** Returns the exit code of a start that fails because of the server of `databaseUrl`. */
const start = async (databaseUrl: string) => {
  const { code, stderr } = await runMain(databaseUrl);
  expect(stderr).toMatch(/^The PostgreSQL server of DATABASE_URL=\S+ [^\n]+\n$/);
  expect(stderr).not.toContain(PASSWORD);
  return code;
};

test('If PostgreSQL cannot be reached, the exit code tells the service manager to restart the server', async () => {
  const unused = `postgres://${USER}:${PASSWORD}@127.0.0.1:${await freePort()}/spaces`;
  expect(await start(unused)).toBe(EX_TEMPFAIL);
  // Like a proxy without a primary.
  await using proxy = await startSwitchingProxy();
  expect(await start(proxy.urlOf(unused))).toBe(EX_TEMPFAIL);
});

test('If the settings are wrong, the exit code tells the service manager not to restart the server', async () => {
  const missingFile = `${server.url}?sslrootcert=${join(dataDir, 'missing.pem')}`;
  const { code, stderr } = await runMain(missingFile);
  expect(stderr).toMatch(
    /^Cannot read the file of sslrootcert in DATABASE_URL: ENOENT[^\n]+missing\.pem'\n$/,
  );
  expect(code).toBe(EX_CONFIG);
  const wrongPassword = new URL(server.url);
  wrongPassword.password = 'wrong';
  const missing = server.url.replace(/postgres$/, 'missing');
  const withoutPassword = new URL(server.url);
  withoutPassword.password = '';
  const withTls = `${server.url}?sslmode=verify-full`;
  for (const url of [wrongPassword.href, missing, withoutPassword.href, withTls])
    expect(await start(url)).toBe(EX_CONFIG);
});

test('If the user lacks a privilege, the message names it', async () => {
  const url = await server.createDatabase('private');
  await execute(url, `CREATE ROLE other LOGIN PASSWORD '${PASSWORD}'`);
  await execute(url, 'REVOKE CONNECT ON DATABASE private FROM PUBLIC');
  const asOther = new URL(url);
  asOther.username = 'other';
  const { code, stderr } = await runMain(asOther.href);
  expect(stderr).toMatch(
    /^The PostgreSQL server of [^\n]+ Run GRANT CONNECT ON DATABASE, [^\n]+ \(PostgreSQL: permission denied for database "private"\)\n$/,
  );
  expect(code).toBe(EX_CONFIG);
});

test('Timeouts of the database do not apply to migrations and imports', async () => {
  const databaseUrl = await server.createDatabase('limited');
  const timeouts = [
    'statement_timeout',
    'lock_timeout',
    'idle_in_transaction_session_timeout',
  ] as const;
  // In one query, because the next connection has the timeouts.
  const settings = timeouts.map((timeout) => `ALTER DATABASE limited SET ${timeout} = 1`);
  await query(databaseUrl, settings.join(';'));
  await using engine = await openDatabase({ dataDir, databaseUrl }, { purpose: 'import' });
  for (const timeout of timeouts) {
    const { rows } = await sql`SHOW ${sql.ref(timeout)}`.execute(engine.db);
    expect(rows).toEqual([{ [timeout]: '0' }]);
  }
});

/** Longer than the timeouts of requests. */
const LONG_WAIT_MS = 33_000;

test.concurrent.for([
  {
    work: 'rebuild of the search index',
    lock: 'LOCK TABLE write_lock IN EXCLUSIVE MODE',
    line: 'another server rebuilds the search index, or an import runs',
  },
  {
    work: 'migration',
    // MIGRATION_LOCK_KEY in server/database/postgresql/migrate.ts.
    lock: 'SELECT pg_advisory_xact_lock(7305829416)',
    line: 'another server migrates the database',
  },
])(
  'A server waits for the $work of another one, however long it takes, and logs this',
  // The imported `expect` belongs to no test as soon as the other one has ended.
  async ({ work, lock, line }, { expect }) => {
    const url = await server.createDatabase(work);
    {
      await using app = await startApp({ DATABASE_URL: url });
      await app.context.engine.db.updateTable('search_index').set({ version: 0 }).execute();
    }
    const other = new pg.Client(url);
    await other.connect();
    await other.query('BEGIN');
    await other.query(lock);
    const startWaiting = async () => {
      const port = await freePort();
      // Not shared with the other test, because a server rejects the avatar folder of another database.
      const DATA_DIR = join(dataDir, String(port));
      const settings = { DATA_DIR, PORT: String(port), DATABASE_URL: url };
      return { service: startProgram('start', [], settings), port };
    };
    const startedAt = performance.now();
    const [waiting, stopped] = [await startWaiting(), await startWaiting()];
    const statusOf = (path: string) =>
      fetch(`http://127.0.0.1:${waiting.port}${path}`).then(({ status }) => status);
    try {
      const lockWaits = `SELECT FROM pg_stat_activity
      WHERE wait_event_type = 'Lock' AND datname = current_database()`;
      await expect.poll(async () => (await query(url, lockWaits)).length).toBe(2);
      stopped.service.child.kill('SIGTERM');
      expect(await stopped.service.exited).toBe('SIGTERM');
      await sleep(LONG_WAIT_MS);
      expect([await statusOf('/healthz'), await statusOf('/readyz')]).toEqual([200, 503]);
      const reports = waiting.service.stdout().split(line).length - 1;
      expect(reports).toBeGreaterThanOrEqual(2);
      // At most one every ten seconds.
      expect(reports).toBeLessThanOrEqual((performance.now() - startedAt) / 10_000);
      await other.query('COMMIT');
      await expect.poll(() => statusOf('/readyz')).toBe(200);
      waiting.service.child.kill('SIGTERM');
      expect(await waiting.service.exited).toBe(0);
    } finally {
      await other.end();
      await waiting.service.kill();
      await stopped.service.kill();
    }
  },
);

test('If PgBouncer rejects the timeouts of the connections, the server says which setting accepts them', async () => {
  const message = 'unsupported startup parameter: statement_timeout';
  const fields = Buffer.from(`SFATAL\0C08P01\0M${message}\0\0`);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(length.length + fields.length);
  const pgbouncer = createServer((socket) => {
    socket.once('data', () => socket.end(Buffer.concat([Buffer.from('E'), length, fields])));
  });
  pgbouncer.listen(0, '127.0.0.1');
  await once(pgbouncer, 'listening');
  try {
    const { port } = pgbouncer.address() as AddressInfo;
    const url = `postgres://${USER}:${PASSWORD}@127.0.0.1:${port}/spaces`;
    const { code, stderr } = await runMain(url);
    expect(stderr).toMatch(
      /^The PostgreSQL server of [^\n]+ ignore_startup_parameters\. \(PostgreSQL: unsupported startup parameter: statement_timeout\)\n$/,
    );
    expect(code).toBe(EX_CONFIG);
  } finally {
    pgbouncer.close();
  }
});

test('A server whose database a newer version has migrated is not ready, and says why', async () => {
  const url = await server.createDatabase('migrated');
  await using app = await startApp({ DATABASE_URL: url });
  expect((await app.fetch('/readyz')).status).toBe(200);
  await sql`INSERT INTO kysely_migration VALUES ('9999-future', '')`.execute(app.context.engine.db);
  const ready = await app.fetch('/readyz');
  expect(ready.status).toBe(503);
  expect(await ready.json()).toMatchObject({
    detail: expect.stringContaining('was migrated by a newer version'),
  });
});
