import { type Kysely, sql } from 'kysely';

/** Adds the time from which the bytes of deleted and edited messages are overwritten. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE pending_purges ADD COLUMN due_at TEXT`.execute(db);
}
