import { openPostgresql } from '../../server/database/postgresql/open.ts';
import { POSTGRESQL_URL, TEMPLATE } from './databases.ts';
import { createDatabase, startPostgresql } from './postgresql.ts';

/** Vitest calls this before all tests, and the returned teardown function after them. */
export default async function setup(): Promise<() => Promise<void>> {
  const server = await startPostgresql();
  const url = await createDatabase(server.url, TEMPLATE);
  const engine = await openPostgresql(url, { migrate: true, runsMaintenance: false });
  await engine.close();
  process.env[POSTGRESQL_URL] = server.url;
  return async () => server[Symbol.asyncDispose]();
}
