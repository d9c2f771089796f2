import { type Kysely, sql } from 'kysely';

/** Adds the number of changes of each space. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE spaces ADD COLUMN version INTEGER NOT NULL DEFAULT 1`.execute(db);
}
