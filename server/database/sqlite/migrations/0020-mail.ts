import { type Kysely, sql } from 'kysely';

/** Adds mail that waits to be sent, and the tokens of its links. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  `CREATE TABLE mails (
    pk INTEGER PRIMARY KEY AUTOINCREMENT,
    mail_id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    user_pk INTEGER REFERENCES users ON DELETE CASCADE,
    address TEXT NOT NULL,
    language TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    send_after TEXT NOT NULL,
    created_at TEXT NOT NULL
  ) STRICT`,
  'CREATE INDEX mails_by_time ON mails (send_after)',
  'CREATE INDEX mails_by_user ON mails (user_pk)',
  'CREATE INDEX mails_by_address ON mails (address)',
  `CREATE TABLE mail_tokens (
    token_hash TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    user_pk INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
    address TEXT NOT NULL,
    expires_at TEXT NOT NULL
  ) STRICT, WITHOUT ROWID`,
  'CREATE INDEX mail_tokens_by_user ON mail_tokens (user_pk)',
  'CREATE INDEX mail_tokens_by_time ON mail_tokens (expires_at)',
];
