import type { Engine } from './engine.ts';
import { withTimeout } from './timeout.ts';

/** Must be shorter than the health-check timeout of load balancers. The timeout does not cancel the queries. */
const PING_TIMEOUT_MS = 3_000;

/**
 * Checks that the database can be read, and that it is not a standby. Does not check writes, because searches still
 * work on a full disk.
 * @throws the database error, or an Error if the database is a standby or does not respond within 3 seconds
 */
export async function pingDatabase(engine: Pick<Engine, 'db' | 'isStandby'>): Promise<void> {
  await withTimeout(
    query(engine),
    PING_TIMEOUT_MS,
    () => new Error('The database does not respond.'),
  );
}

async function query(engine: Pick<Engine, 'db' | 'isStandby'>): Promise<void> {
  await engine.db.selectFrom('users').select('pk').limit(1).execute();
  if (await engine.isStandby()) {
    throw new Error('The database is a standby. DATABASE_URL must point to the primary.');
  }
}
