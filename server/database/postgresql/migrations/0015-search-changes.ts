import { type Kysely, sql } from 'kysely';

/** Replaces the search index in PostgreSQL by a log of changes, which the copies of the index on each machine follow. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  'DROP TRIGGER search_revision_3 ON users',
  'DROP TRIGGER participant_count_of_results ON spaces',
  'DROP TABLE public_spaces, tag_hits, word_blocks, word_changes, dictionary, search_revision',
  'DROP FUNCTION search_changes, public_space_changes, raise_search_revision, copy_participant_count',
  'UPDATE erased_spaces SET key = NULL',

  // See `search-copy/`. Writers only append rows, so they do not wait for each other.
  `CREATE TABLE search_changes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    recorded_at timestamptz NOT NULL DEFAULT now(),
    space_pk bigint,
    user_pk bigint,
    omit boolean NOT NULL DEFAULT false
  )`,
  'CREATE INDEX search_changes_by_xid ON search_changes (xid)',
  // One row: changes of all transactions from this one on are still in the log.
  'CREATE TABLE search_changes_bound (xid xid8 NOT NULL)',
  "INSERT INTO search_changes_bound VALUES ('0')",
  // After a crash, PostgreSQL empties unlogged tables, and uses ids of lost transactions again.
  'CREATE UNLOGGED TABLE search_epoch (token uuid NOT NULL)',

  `CREATE FUNCTION record_user_change() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN INSERT INTO search_changes (user_pk) VALUES (OLD.pk); RETURN NULL; END'`,
  `CREATE TRIGGER user_changes AFTER UPDATE OF username, avatar OR DELETE ON users
    FOR EACH ROW EXECUTE FUNCTION record_user_change()`,

  // All writers lock it. See `lockForWriting`.
  'CREATE TABLE write_lock ()',
];
