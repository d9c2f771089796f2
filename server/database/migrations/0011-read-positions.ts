import { type Kysely, sql } from 'kysely';

/** Adds the time until which a participant has read the messages in a space. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE participations ADD COLUMN read_until TEXT`.execute(db);
}
