import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type PostgresqlServer, startPostgresql } from '../../support/postgresql.ts';

let server: PostgresqlServer;
beforeAll(async () => {
  server = await startPostgresql();
});
afterAll(() => server[Symbol.asyncDispose]());

/** Loads the pool again, like a new process, and runs statements until they have names. Returns the name of each. */
async function nameStatements(texts: readonly string[]): Promise<Map<string, string>> {
  vi.resetModules();
  const { openPool } = await import('../../../server/database/postgresql/pool.ts');
  const pool = openPool(server.url, { maxConnections: 1 });
  for (const text of texts) {
    for (let run = 1; run <= 3; run += 1) await pool.query(text, [1]);
  }
  const { rows } = await pool.query('SELECT statement, name FROM pg_prepared_statements');
  await pool.end();
  return new Map(rows.map(({ statement, name }) => [statement, name]));
}

test('Gives a statement the same name in every process, so that processes can share connections of a pooler', async () => {
  const texts = ['SELECT $1::int AS first', 'SELECT $1::int AS second'];
  const [names, otherNames] = [
    await nameStatements(texts),
    await nameStatements(texts.toReversed()),
  ];
  expect([...names.keys()].sort()).toEqual(texts);
  expect(new Set(names.values()).size).toBe(2);
  for (const text of texts) expect(otherNames.get(text)).toBe(names.get(text));
});
