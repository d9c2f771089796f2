import { type Kysely, sql } from 'kysely';

/** Adds reports of users, and the spaces of reported messages. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  'ALTER TABLE reports DROP CONSTRAINT reports_check',
  'ALTER TABLE reports ADD COLUMN user_pk bigint REFERENCES users ON DELETE CASCADE',
  `UPDATE reports SET space_pk = messages.space_pk FROM messages
    WHERE messages.pk = reports.message_pk`,
  `ALTER TABLE reports ADD CHECK ((space_pk IS NULL) <> (user_pk IS NULL)),
    ADD CHECK (message_pk IS NULL OR space_pk IS NOT NULL)`,
  'DROP INDEX reports_by_space',
  'CREATE INDEX reports_in_space ON reports (space_pk, pk)',
  'CREATE UNIQUE INDEX reports_by_space ON reports (space_pk, reporter_pk) WHERE message_pk IS NULL',
  'CREATE UNIQUE INDEX reports_by_user ON reports (user_pk, reporter_pk)',
];
