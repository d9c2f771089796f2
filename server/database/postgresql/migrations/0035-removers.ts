import { type Kysely, sql } from 'kysely';

/** Adds who has removed a participant. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE participations ADD COLUMN removed_by_pk bigint`.execute(db);
}
