import { type Kysely, sql } from 'kysely';

/** Adds the order of the list of appreciations. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`CREATE INDEX appreciations_by_message
    ON appreciations (message_pk, created_at, user_pk)`.execute(db);
}
