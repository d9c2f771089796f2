import { type Kysely, sql } from 'kysely';

/** Adds removals of participants, and an index for each list of the users of a space. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  `ALTER TABLE participations ADD COLUMN
    removed_at TEXT CHECK (removed_at IS NULL OR left_at IS NOT NULL)`,
  'CREATE INDEX participations_by_space ON participations (space_pk, joined_at) WHERE left_at IS NULL',
  'CREATE INDEX removals_by_space ON participations (space_pk, removed_at) WHERE removed_at IS NOT NULL',
];
