import { type Kysely, sql } from 'kysely';

/** Adds the number of the transaction that last changed what lists of spaces show of a row. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  'ALTER TABLE users ADD COLUMN changed_in bigint',
  'CREATE INDEX users_by_change ON users (changed_in) WHERE changed_in IS NOT NULL',
  'ALTER TABLE spaces ADD COLUMN changed_in bigint',
  'ALTER TABLE messages ADD COLUMN changed_in bigint',
  'DROP INDEX messages_by_space',
  'CREATE INDEX messages_by_space ON messages (space_pk, created_at, message_id, author_pk, changed_in)',
  'ALTER TABLE participations ADD COLUMN changed_in bigint',
  'ALTER TABLE participations ADD COLUMN left_in bigint',
  'ALTER TABLE message_changes ADD COLUMN changed_in bigint',
  'CREATE INDEX deletions_by_space ON message_changes (space_pk, changed_at) WHERE changed_in IS NOT NULL',
  // There can be many more past participations.
  'CREATE INDEX current_participations_by_user ON participations (user_pk, joined_at, space_pk) WHERE left_at IS NULL',
  'CREATE INDEX past_participations_by_user ON participations (user_pk, left_in) WHERE left_in IS NOT NULL',
  'ALTER TABLE erased_spaces ADD COLUMN space_id text COLLATE "C"',
  'ALTER TABLE erased_spaces ADD COLUMN changed_in bigint',
  `CREATE TABLE ended_participations (
    user_pk bigint NOT NULL REFERENCES users ON DELETE CASCADE,
    space_pk bigint NOT NULL,
    space_id text COLLATE "C",
    changed_in bigint NOT NULL,
    ended_at text COLLATE "C" NOT NULL,
    PRIMARY KEY (user_pk, space_pk)
  )`,
  'CREATE INDEX ended_participations_by_time ON ended_participations (ended_at)',
];
