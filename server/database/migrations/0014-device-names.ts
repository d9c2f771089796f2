import { type Kysely, sql } from 'kysely';

/** Adds names of devices, by which users tell their sessions apart. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE sessions ADD COLUMN device_name TEXT`.execute(db);
}
