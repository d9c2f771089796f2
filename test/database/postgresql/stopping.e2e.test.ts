import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as api from '../../../generated/sdk.gen.ts';
import { failAtDeadline } from '../../../server/database/postgresql/stopping.ts';
import { clientOf, register } from '../../support/client.ts';
import { type PostgresqlServer, query, startPostgresql } from '../../support/postgresql.ts';
import { startServer } from '../../support/server.ts';

let postgresql: PostgresqlServer;
beforeAll(async () => {
  postgresql = await startPostgresql();
});
afterAll(() => postgresql[Symbol.asyncDispose]());

/** `DRAIN_SECONDS` (1 s by default), 7 s for pending requests, and 3 s to close the database. */
const MAX_STOP_MS = 11_000;

test.each(['1', '2'])(
  'A server that stops while PostgreSQL hangs responds to pending requests and exits, with WORKERS=%s',
  async (WORKERS) => {
    const url = await postgresql.createDatabase(`stopping${WORKERS}`);
    await using server = await startServer({ DATABASE_URL: url, WORKERS, RATE_LIMITS: 'on' });
    const search = () => fetch(`${server.url}/api/spaces/search?q=tea`);
    const login = () =>
      fetch(`${server.url}/api/auth/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ email: 'ada@example.com', password: 'long enough' }),
      });
    // Opens connections to PostgreSQL, some of which are idle when it hangs.
    const statuses = [search(), search(), login()].map(async (sent) => (await sent).status);
    expect(await Promise.all(statuses)).toEqual([200, 200, 401]);
    const { token } = await register(server.url, 'ada');
    const client = clientOf(server.url, token);
    const other = new pg.Client(url);
    await other.connect();
    await other.query('BEGIN');
    // The deletion, which runs on another thread, waits for this lock.
    await other.query('LOCK TABLE write_lock IN EXCLUSIVE MODE');
    const deletion = api.deleteAccount({ client });
    const waits = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%ROW SHARE%'`;
    await expect.poll(async () => (await query(url, waits)).length).toBe(1);
    await postgresql.suspend();
    try {
      const problems = [search(), search(), login()].map(async (sent) => (await sent).json());
      problems.push(deletion.then(({ error }) => error));
      const startedAt = performance.now();
      const [code, ...pending] = await Promise.all([server.stop(), ...problems]);
      const milliseconds = performance.now() - startedAt;
      for (const problem of pending) {
        expect(problem).toMatchObject({ status: 503, code: 'unavailable' });
      }
      expect(code).toBe(1);
      expect(server.output()).toContain('the database did not respond in time');
      expect(milliseconds).toBeLessThan(MAX_STOP_MS);
    } finally {
      await postgresql.resume();
      await other.end();
    }
  },
);

test('A server that stops while PostgreSQL responds exits with 0', async () => {
  const url = await postgresql.createDatabase('responding');
  await using server = await startServer({ DATABASE_URL: url, WORKERS: '2', RATE_LIMITS: 'on' });
  expect(await server.stop()).toBe(0);
});

test('A task fails immediately if it begins after the deadline', async () => {
  let isMissed = false;
  const onMissed = () => {
    isMissed = true;
  };
  const endless = new Promise<void>(() => {});
  const deadline = { signal: AbortSignal.abort(), onMissed };
  await expect(failAtDeadline(endless, deadline)).rejects.toThrow('The service is stopping.');
  expect(isMissed).toBe(true);
}, 5_000);
