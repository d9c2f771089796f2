import { type Kysely, sql } from 'kysely';

/** Adds the time when the text of a message was last edited. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE messages ADD COLUMN edited_at TEXT`.execute(db);
}
