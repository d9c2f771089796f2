import { crc32 } from 'node:zlib';
import { sql } from 'kysely';
import type { DatabaseTransaction } from '../engine.ts';

/**
 * Empty tables, which are only locked. Not advisory locks, because these are acquired by a query: it would take the
 * transaction's snapshot before it waits, and then not see the events of the transactions that it has waited for. LOCK
 * TABLE takes no snapshot.
 *
 * Each table serves many spaces, so their number decides how often the writers of different spaces wait for each other.
 */
export const ORDER_LOCK_TABLES: readonly string[] = Array.from(
  { length: 64 },
  (_, index) => `message_order_${index}`,
);

/** See `Engine.lockMessageOrder`. */
export async function lockMessageOrder(
  trx: DatabaseTransaction,
  spaceId: string | null,
): Promise<void> {
  const tables =
    spaceId === null
      ? ORDER_LOCK_TABLES.join()
      : ORDER_LOCK_TABLES[crc32(spaceId) % ORDER_LOCK_TABLES.length];
  await sql`LOCK TABLE ${sql.raw(`${tables}`)} IN EXCLUSIVE MODE`.execute(trx);
}
