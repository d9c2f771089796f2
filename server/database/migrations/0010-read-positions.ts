import { type Kysely, sql } from 'kysely';

/** Adds read positions, and the author to the index by space, so that it alone counts unread messages. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE participations ADD COLUMN read_until TEXT`.execute(db);
  await sql`DROP INDEX messages_by_space`.execute(db);
  await sql`CREATE INDEX messages_by_space ON messages (space_pk, created_at, pk, author_pk)`.execute(
    db,
  );
}
