import { sql } from 'kysely';
import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '../../../server/database/engine.ts';
import { connect } from '../../../server/database/postgresql/dialect.ts';
import { isUnavailable } from '../../../server/database/postgresql/errors.ts';
import { openPool } from '../../../server/database/postgresql/pool.ts';
import { type PostgresqlServer, query, startPostgresql } from '../../support/postgresql.ts';

let server: PostgresqlServer;
beforeAll(async () => {
  server = await startPostgresql();
});
afterAll(() => server[Symbol.asyncDispose]());

test('Reading a stream of rows fails if its connection is lost', async () => {
  const db = connect(openPool(server.url));
  const read = async () => {
    for await (const { pid } of streamNumbers(db)) {
      await query(server.url, `SELECT pg_terminate_backend(${pid})`);
    }
  };
  const error: unknown = await read().catch((reason) => reason);
  expect(isUnavailable(error)).toBe(true);
  // Would wait for a connection that was not released.
  await db.destroy();
});

test('Reading a stream of rows fails if its connection is lost after the last row', async () => {
  const pool = openPool(server.url);
  pool.on('connect', ({ connection }) => {
    // The cursor then waits for the response to its last message.
    (connection as pg.Connection).on('commandComplete', () => connection.stream.destroy());
  });
  const db = connect(pool);
  const read = async () => {
    for await (const row of streamNumbers(db)) expect(row.pid).toBeGreaterThan(0);
  };
  const error: unknown = await read().catch((reason) => reason);
  expect(isUnavailable(error)).toBe(true);
  await db.destroy();
});

/** Streams the process id of the connection a thousand times, in chunks of ten. */
function streamNumbers(db: Database): AsyncIterable<{ pid: number }> {
  const numbers = sql`generate_series(1, 1000)`.as('numbers');
  return db.selectFrom(numbers).select(sql<number>`pg_backend_pid()`.as('pid')).stream(10);
}
