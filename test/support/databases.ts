import { randomUUID } from 'node:crypto';
import { createDatabase, dropDatabase } from './postgresql.ts';

/** Environment variable: the URL of a PostgreSQL server with the database TEMPLATE. Without it, tests use SQLite. */
export const POSTGRESQL_URL = 'TEST_POSTGRESQL_URL';

/** The name of a migrated database without rows. */
export const TEMPLATE = 'migrated';

/** An empty database for a test. */
export interface TestDatabase extends AsyncDisposable {
  /** The settings to use it. */
  settings: Record<string, string>;
}

export async function createTestDatabase(): Promise<TestDatabase> {
  const url = process.env[POSTGRESQL_URL];
  if (!url) return { settings: {}, async [Symbol.asyncDispose]() {} };
  const name = `test ${randomUUID()}`;
  return {
    settings: { DATABASE_URL: await createDatabase(url, name, TEMPLATE) },
    [Symbol.asyncDispose]: () => dropDatabase(url, name),
  };
}
