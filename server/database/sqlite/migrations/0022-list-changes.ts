import { type Kysely, sql } from 'kysely';

/** Adds the number of the transaction that last changed what lists of spaces show of a row. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  'CREATE TABLE last_transaction (number INTEGER NOT NULL, epoch TEXT NOT NULL) STRICT',
  'INSERT INTO last_transaction VALUES (0, lower(hex(randomblob(16))))',
  'ALTER TABLE users ADD COLUMN changed_in INTEGER',
  'CREATE INDEX users_by_change ON users (changed_in) WHERE changed_in IS NOT NULL',
  'ALTER TABLE spaces ADD COLUMN changed_in INTEGER',
  'ALTER TABLE messages ADD COLUMN changed_in INTEGER',
  'DROP INDEX messages_by_space',
  'CREATE INDEX messages_by_space ON messages (space_pk, created_at, message_id, author_pk, changed_in)',
  'ALTER TABLE participations ADD COLUMN changed_in INTEGER',
  'ALTER TABLE participations ADD COLUMN left_in INTEGER',
  'ALTER TABLE message_changes ADD COLUMN changed_in INTEGER',
  'CREATE INDEX deletions_by_space ON message_changes (space_pk, changed_at) WHERE changed_in IS NOT NULL',
  // There can be many more past participations. With all columns that followers of lists read, also left_at, which SQLite
  // would otherwise look up, because rows of one user are far apart.
  `CREATE INDEX current_participations_by_user ON participations (user_pk, joined_at, space_pk, left_at, changed_in)
    WHERE left_at IS NULL`,
  'CREATE INDEX past_participations_by_user ON participations (user_pk, left_in) WHERE left_in IS NOT NULL',
  'ALTER TABLE erased_spaces ADD COLUMN space_id TEXT',
  'ALTER TABLE erased_spaces ADD COLUMN changed_in INTEGER',
  `CREATE TABLE ended_participations (
    user_pk INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
    space_pk INTEGER NOT NULL,
    space_id TEXT,
    changed_in INTEGER NOT NULL,
    ended_at TEXT NOT NULL,
    PRIMARY KEY (user_pk, space_pk)
  ) STRICT, WITHOUT ROWID`,
  'CREATE INDEX ended_participations_by_time ON ended_participations (ended_at)',
];
