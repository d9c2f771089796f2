import { type Kysely, sql } from 'kysely';

/** Adds the hash of the id of a deleted account, until maintenance has written it to the journal. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE pending_purges ADD COLUMN user_id_hash TEXT`.execute(db);
}
