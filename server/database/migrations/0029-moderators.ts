import { type Kysely, sql } from 'kysely';

/** Adds the moderators of spaces. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE participations ADD COLUMN is_moderator INTEGER NOT NULL DEFAULT 0
    CHECK (is_moderator = 0 OR is_moderator = 1 AND left_at IS NULL)`.execute(db);
  await sql`CREATE INDEX moderators_by_space ON participations (space_pk)
    WHERE is_moderator = 1`.execute(db);
}
