import { openPostgresql } from '../../server/database/postgresql/open.ts';
import { createDatabase, POSTGRESQL_URL, startPostgresql, TEMPLATE } from './postgresql.ts';

/**
 * Starts a server for `createTestDatabase`. Returns a function that ends it. Vitest calls both. Must run before
 * `databases.ts` is imported.
 */
export default async function setup(): Promise<() => Promise<void>> {
  const server = await startPostgresql();
  const url = await createDatabase(server.url, TEMPLATE);
  const engine = await openPostgresql(url, { migrate: true, runsMaintenance: false });
  await engine.close();
  process.env[POSTGRESQL_URL] = server.url;
  return async () => server[Symbol.asyncDispose]();
}
