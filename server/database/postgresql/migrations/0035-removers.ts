import { type Kysely, sql } from 'kysely';

/** Adds who has removed a participant. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE participations
    ADD COLUMN removed_by_pk bigint REFERENCES users ON DELETE SET NULL`.execute(db);
  // For the deletion of the remover.
  await sql`CREATE INDEX removals_by_remover ON participations (removed_by_pk)
    WHERE removed_by_pk IS NOT NULL`.execute(db);
}
