import { openPostgresql } from '../../server/database/postgresql/engine.ts';
import { createDatabase, POSTGRESQL_URL, startPostgresql, TEMPLATE } from './postgresql.ts';

/**
 * Starts a server for `createTestDatabase`. Returns a function that ends it. Vitest calls both. Must run before
 * `databases.ts` is imported.
 */
export default async function setup(): Promise<() => Promise<void>> {
  await using started = new AsyncDisposableStack();
  const server = started.use(await startPostgresql());
  const url = await createDatabase(server.url, TEMPLATE);
  const engine = await openPostgresql(url, { runsMaintenance: false });
  await engine.close();
  process.env[POSTGRESQL_URL] = server.url;
  const owned = started.move();
  return () => owned.disposeAsync();
}
