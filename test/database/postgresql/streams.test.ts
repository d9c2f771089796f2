import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { connect } from '../../../server/database/postgresql/dialect.ts';
import { isUnavailable } from '../../../server/database/postgresql/errors.ts';
import { openPool } from '../../../server/database/postgresql/pool.ts';
import { query, startPostgresql } from '../../support/postgresql.ts';

test('Reading a stream of rows fails if its connection is lost', async () => {
  await using server = await startPostgresql();
  const db = connect(openPool(server.url));
  const numbers = sql`generate_series(1, 1000)`.as('numbers');
  const rows = db.selectFrom(numbers).select(sql<number>`pg_backend_pid()`.as('pid')).stream(10);
  const read = async () => {
    for await (const { pid } of rows)
      await query(server.url, `SELECT pg_terminate_backend(${pid})`);
  };
  const error: unknown = await read().catch((reason) => reason);
  expect(isUnavailable(error)).toBe(true);
  // Would wait for a connection that was not released.
  await db.destroy();
}, 30_000);
