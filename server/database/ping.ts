import { TemporaryError } from '../errors.ts';
import type { Engine } from './engine.ts';
import { withTimeout } from './timeout.ts';

/** Must be shorter than the health-check timeout of load balancers. The timeout does not cancel the queries. */
const PING_TIMEOUT_MS = 3_000;

/**
 * Checks that the database can be used. Does not check writes, because searches still work on a full disk.
 * @throws the database error, or an OperatorError of `Engine.assertUsable` or without a response within 3 seconds
 */
export async function pingDatabase(engine: Pick<Engine, 'db' | 'assertUsable'>): Promise<void> {
  await withTimeout(
    query(engine),
    PING_TIMEOUT_MS,
    () => new TemporaryError('The database does not respond.'),
  );
}

async function query({ db, assertUsable }: Pick<Engine, 'db' | 'assertUsable'>): Promise<void> {
  await assertUsable();
  await db.selectFrom('users').select('pk').limit(1).execute();
}
