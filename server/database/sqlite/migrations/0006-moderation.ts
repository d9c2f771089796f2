import { type Kysely, sql } from 'kysely';

/** Adds suspensions, public ids of sessions, and reports. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  'ALTER TABLE users ADD COLUMN suspended_at TEXT',

  // A new table, because SQLite cannot add a column that is unique and not null.
  'ALTER TABLE sessions RENAME TO old_sessions',
  `CREATE TABLE sessions (
    pk INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL UNIQUE,
    token_hash TEXT NOT NULL UNIQUE,
    user_pk INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
    created_at TEXT NOT NULL,
    last_used_at TEXT NOT NULL
  ) STRICT`,
  `INSERT INTO sessions (pk, session_id, token_hash, user_pk, created_at, last_used_at)
    SELECT pk, lower(hex(randomblob(16))), token_hash, user_pk, created_at, last_used_at FROM old_sessions`,
  'DROP TABLE old_sessions',
  // Sorted, to find the sessions of an account that were not used for the longest time.
  'CREATE INDEX sessions_by_user ON sessions (user_pk, last_used_at)',
  'CREATE INDEX sessions_by_creation ON sessions (created_at)',
  'CREATE INDEX sessions_by_use ON sessions (last_used_at)',

  `CREATE TABLE reports (
    pk INTEGER PRIMARY KEY AUTOINCREMENT,
    report_id TEXT NOT NULL UNIQUE,
    reporter_pk INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
    space_pk INTEGER REFERENCES spaces ON DELETE CASCADE,
    message_pk INTEGER REFERENCES messages ON DELETE CASCADE,
    reason TEXT NOT NULL,
    created_at TEXT NOT NULL,
    CHECK ((space_pk IS NULL) <> (message_pk IS NULL))
  ) STRICT`,
  'CREATE INDEX reports_by_reporter ON reports (reporter_pk)',
  'CREATE UNIQUE INDEX reports_by_space ON reports (space_pk, reporter_pk)',
  'CREATE UNIQUE INDEX reports_by_message ON reports (message_pk, reporter_pk)',
];
