import { sql } from 'kysely';
import type { Database } from '../engine.ts';

/**
 * SQL for a text that identifies the running server, the database and the table of the epoch. A dump contains the table,
 * so its content alone does not identify them.
 */
const SERVER = sql`concat_ws(' ', (SELECT oid FROM pg_database WHERE datname = current_database()),
  'search_epoch'::regclass::oid, extract(epoch FROM pg_postmaster_start_time()))`;

/**
 * SQL for the epoch. It differs if transaction ids can have been used again: in another or a restored database, after a
 * restart and on another server. Null from then until `beginEpoch` is called.
 */
export const EPOCH = sql<
  string | null
>`(SELECT token::text FROM search_epoch WHERE server = ${SERVER})`;

/**
 * Begins a new epoch, unless another process has. Empties the log, whose transaction ids may be used again. Copies do not
 * need it, because they are repaired after the commit.
 */
export async function beginEpoch(source: Database): Promise<void> {
  await source.transaction().execute(async (trx) => {
    await sql`LOCK TABLE search_epoch IN EXCLUSIVE MODE`.execute(trx);
    const { rows } = await sql`SELECT FROM search_epoch WHERE server = ${SERVER}`.execute(trx);
    if (rows.length > 0) return;
    await sql`DELETE FROM search_epoch`.execute(trx);
    await sql`INSERT INTO search_epoch SELECT gen_random_uuid(), ${SERVER}`.execute(trx);
    await sql`DELETE FROM search_changes`.execute(trx);
    await sql`UPDATE search_changes_bound SET xid = '0'`.execute(trx);
  });
}
