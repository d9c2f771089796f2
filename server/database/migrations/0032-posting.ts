import { type Kysely, sql } from 'kysely';

/** Adds who can write in a space. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE spaces ADD COLUMN posting TEXT NOT NULL DEFAULT 'participants'
    CHECK (posting IN ('participants', 'moderators'))`.execute(db);
}
