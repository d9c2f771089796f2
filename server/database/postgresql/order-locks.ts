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
const ORDER_LOCK_TABLES: readonly string[] = Array.from(
  { length: 64 },
  (_, index) => `message_order_${index}`,
);

/** Acquires the lock of a space. */
export async function lockOrder(trx: DatabaseTransaction, spaceId: string): Promise<void> {
  const table = ORDER_LOCK_TABLES[crc32(spaceId) % ORDER_LOCK_TABLES.length] as string;
  await sql`LOCK TABLE ${sql.table(table)} IN EXCLUSIVE MODE`.execute(trx);
}

/** Acquires the locks of all spaces. */
export async function lockAllOrders(trx: DatabaseTransaction): Promise<void> {
  const tables = ORDER_LOCK_TABLES.map((table) => sql.table(table));
  await sql`LOCK TABLE ${sql.join(tables)} IN EXCLUSIVE MODE`.execute(trx);
}
