import { sql } from 'kysely';
import { expect } from 'vitest';
import type { Engine } from '../../../server/database/engine.ts';

/** Waits until `count` transactions of a database wait for locks. */
export async function waitForLockWaits({ db }: Engine, count: number): Promise<void> {
  // Not in a transaction, which would always see the connections that existed at its first query.
  const countWaiting = async () => {
    const { rows } = await sql`SELECT FROM pg_stat_activity
      WHERE wait_event_type = 'Lock' AND datname = current_database()`.execute(db);
    return rows.length;
  };
  await expect.poll(countWaiting, { interval: 5 }).toBe(count);
}
