import { type Kysely, sql } from 'kysely';

/** Adds the message that another one answers. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE messages ADD COLUMN reply_to_pk bigint`.execute(db);
}
