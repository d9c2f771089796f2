import { type Kysely, sql } from 'kysely';

const statements = [
  // A dump contains this table, so the token alone does not identify the running server.
  "ALTER TABLE search_epoch ADD COLUMN server text NOT NULL DEFAULT ''",
  'ALTER TABLE search_epoch ALTER COLUMN server DROP DEFAULT',
  // Within a long transaction, now() is the time of its beginning.
  'ALTER TABLE search_changes ALTER COLUMN recorded_at SET DEFAULT clock_timestamp()',
  // Spaces of an account that was being deleted when the index left the database. Copies read their counts when they are
  // built.
  'DELETE FROM spaces_to_move',
];

/**
 * Lets a restored database be recognized. From now on, `search_changes_bound` is the last transaction whose changes were
 * deleted from the log.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
