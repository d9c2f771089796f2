import { type Kysely, sql } from 'kysely';

/** Adds the index of the words of messages. Maintenance fills it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  // No foreign key, because deleting a space would then delete all its rows in one statement.
  `CREATE TABLE message_words (
    space_pk INTEGER NOT NULL,
    word TEXT NOT NULL,
    sent_ms INTEGER NOT NULL,
    PRIMARY KEY (space_pk, word, sent_ms)
  ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE indexed_messages (
    space_pk INTEGER PRIMARY KEY REFERENCES spaces ON DELETE CASCADE,
    created_at TEXT NOT NULL,
    message_id TEXT NOT NULL
  ) STRICT`,
  'CREATE TABLE message_index (examined_pk INTEGER NOT NULL) STRICT',
  'INSERT INTO message_index VALUES (0)',
];
