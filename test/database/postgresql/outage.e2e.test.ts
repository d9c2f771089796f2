import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import pg from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../../generated/sdk.gen.ts';
import { connect } from '../../../server/database/postgresql/dialect.ts';
import { openPool } from '../../../server/database/postgresql/pool.ts';
import { transact } from '../../../server/database/transaction.ts';
import { startApp, type TestApp } from '../../support/app.ts';
import { type PostgresqlServer, startPostgresql } from '../../support/postgresql.ts';
import { openRaw } from '../../support/raw.ts';
import { createSpace } from '../../support/spaces.ts';
import { waitForLockWaits } from './lock-waits.ts';

let server: PostgresqlServer;
let url: string;
let app: TestApp;
const warnings: { level: number; msg: string }[] = [];

beforeAll(async () => {
  server = await startPostgresql();
  url = await server.createDatabase('outage');
  app = await startApp(
    { DATABASE_URL: url, RATE_LIMITS: 'on' },
    { log: pino({ level: 'warn' }, { write: (line) => void warnings.push(JSON.parse(line)) }) },
  );
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

describe('While PostgreSQL is stopped', () => {
  test('requests get 503, and the service recovers without a restart', async () => {
    const { client } = await app.register();
    const space = await createSpace({ client });
    const requests = [
      () => api.searchSpaces({ client, query: { q: 'anything' } }),
      () => api.getProfile({ client }),
      () => api.changeBio({ client, body: { bio: 'Later' } }),
      () => api.sendMessage({ client, body: { space_id: space.space_id, text: 'Hello' } }),
      () => api.login({ client, body: { email: 'nobody@example.com', password: 'long enough' } }),
    ];
    await server.stop();
    try {
      for (const request of requests) {
        const { error, response } = await request();
        expect(error).toMatchObject({ status: 503, code: 'unavailable' });
        expect(Number(response?.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      }
      expect((await app.fetch('/healthz')).status).toBe(200);
      expect((await app.fetch('/readyz')).status).toBe(503);
      await app.context.housekeeping.run();
    } finally {
      await server.start();
    }
    expect(warnings).toMatchObject([{ level: 40, msg: 'the database is unavailable' }]);
    await expect.poll(async () => (await app.fetch('/readyz')).status).toBe(200);
    // Until the search index has been compared with the database.
    await expect.poll(async () => (await app.fetch('/api/spaces/search?q=a')).status).toBe(200);
    const statuses: (number | undefined)[] = [];
    for (const request of requests) statuses.push((await request()).response?.status);
    expect(statuses).toEqual([200, 200, 200, 201, 401]);
  });
});

test('A client that closes its connection while it sends a body does not count as an outage', async () => {
  const lines: string[] = [];
  await using other = await startApp(
    { DATABASE_URL: await server.createDatabase('aborted') },
    { log: pino({ level: 'warn' }, { write: (line) => void lines.push(line) }) },
  );
  {
    using connection = await openRaw(other.url);
    await connection.write(
      'POST /api/auth/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"em',
    );
    await sleep(100);
  }
  await sleep(300);
  expect(lines).toEqual([]);
});

test('A lost connection fails the request of its transaction, and the transaction is not retried', async () => {
  const { client } = await app.register();
  // The change waits for this lock, in its transaction.
  const other = new pg.Client(url);
  await other.connect();
  await other.query('BEGIN');
  await other.query('LOCK TABLE users IN EXCLUSIVE MODE');
  const change = api.changeBio({ client, body: { bio: 'Lost' } });
  await waitForLockWaits(app.context.engine, 1);
  await other.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE wait_event_type = 'Lock' AND datname = current_database()`);
  expect((await change).error).toMatchObject({ status: 503, code: 'unavailable' });
  await other.query('ROLLBACK');
  await other.end();
  const { data } = await api.getProfile({ client, throwOnError: true });
  expect(data.bio).toBe('');
});

test('While PostgreSQL hangs, queries and transactions time out, and their connections are not reused', async () => {
  const { engine } = app.context;
  const db = connect(openPool(url, { maxConnections: 2, responseTimeoutMs: 2_000 }));
  const readPid = async () => {
    const { rows } = await sql<{ pid: number }>`SELECT pg_backend_pid() AS pid`.execute(db);
    return rows[0]?.pid;
  };
  const changeBios = () =>
    transact({ ...engine, db }, (trx) => trx.updateTable('users').set({ bio: '' }).execute());
  // Two connections, because new ones have a time limit of their own.
  const pids = await Promise.all([readPid(), readPid()]);
  await server.suspend();
  const outcomes = await Promise.allSettled([readPid(), changeBios()]);
  await server.resume();
  for (const outcome of outcomes) {
    const { reason } = outcome as PromiseRejectedResult;
    expect(engine.isUnavailable(reason), String(reason)).toBe(true);
  }
  for (const pid of await Promise.all([readPid(), readPid()])) expect(pids).not.toContain(pid);
  await changeBios();
  await db.destroy();
});

test('While PostgreSQL hangs, /readyz returns 503 within a few seconds, even without a free connection', async () => {
  expect((await app.fetch('/readyz')).status).toBe(200);
  await server.suspend();
  const outcomes: { status: number; code?: string; seconds: number }[] = [];
  try {
    // More than the connections of the pool.
    await Promise.all(
      Array.from({ length: 12 }, async () => {
        const startedAt = performance.now();
        const response = await app.fetch('/readyz');
        const { code } = (await response.json()) as { code?: string };
        const seconds = (performance.now() - startedAt) / 1000;
        outcomes.push({ status: response.status, ...(code && { code }), seconds });
      }),
    );
    expect((await app.fetch('/healthz')).status).toBe(200);
  } finally {
    await server.resume();
  }
  for (const { status, code, seconds } of outcomes) {
    expect({ status, code }).toEqual({ status: 503, code: 'unavailable' });
    expect(seconds).toBeLessThan(5);
  }
  expect((await app.fetch('/readyz')).status).toBe(200);
});

test('Requests wait for a connection of PostgreSQL', async () => {
  const { client } = await app.register();
  const other = new pg.Client(url);
  await other.connect();
  await other.query('BEGIN');
  await other.query('LOCK TABLE sessions IN ACCESS EXCLUSIVE MODE');
  const getStatus = async () => (await api.getProfile({ client })).response?.status;
  // Ten have a connection each. The others wait for one.
  const waiting = Array.from({ length: 15 }, getStatus);
  await expect.poll(() => app.context.engine.activity().waitingQueries).toBe(5);
  await other.query('ROLLBACK');
  await other.end();
  expect(new Set(await Promise.all(waiting))).toEqual(new Set([200]));
});
