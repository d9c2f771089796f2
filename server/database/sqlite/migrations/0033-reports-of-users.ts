import { type Kysely, sql } from 'kysely';

/** Adds reports of users, and the spaces of reported messages. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  // A new table, because SQLite cannot change a CHECK.
  'ALTER TABLE reports RENAME TO old_reports',
  `CREATE TABLE reports (
    pk INTEGER PRIMARY KEY AUTOINCREMENT,
    report_id TEXT NOT NULL UNIQUE,
    reporter_pk INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
    space_pk INTEGER REFERENCES spaces ON DELETE CASCADE,
    message_pk INTEGER REFERENCES messages ON DELETE CASCADE,
    user_pk INTEGER REFERENCES users ON DELETE CASCADE,
    reason TEXT NOT NULL,
    created_at TEXT NOT NULL,
    CHECK ((space_pk IS NULL) <> (user_pk IS NULL)),
    CHECK (message_pk IS NULL OR space_pk IS NOT NULL)
  ) STRICT`,
  `INSERT INTO reports (pk, report_id, reporter_pk, space_pk, message_pk, reason, created_at)
    SELECT old_reports.pk, report_id, reporter_pk, coalesce(old_reports.space_pk, messages.space_pk), message_pk, reason,
      old_reports.created_at
    FROM old_reports LEFT JOIN messages ON messages.pk = message_pk`,
  'DROP TABLE old_reports',
  'CREATE INDEX reports_by_reporter ON reports (reporter_pk)',
  'CREATE INDEX reports_in_space ON reports (space_pk, pk)',
  'CREATE UNIQUE INDEX reports_by_space ON reports (space_pk, reporter_pk) WHERE message_pk IS NULL',
  'CREATE UNIQUE INDEX reports_by_message ON reports (message_pk, reporter_pk)',
  'CREATE UNIQUE INDEX reports_by_user ON reports (user_pk, reporter_pk)',
];
