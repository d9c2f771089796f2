import { type Kysely, sql } from 'kysely';

/** Adds the order of what happens in each space, and changes of messages, for readers who follow a space. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  'DROP INDEX messages_by_space',
  'CREATE INDEX messages_by_space ON messages (space_pk, created_at, message_id, author_pk)',

  `CREATE TABLE space_clocks (
    space_pk INTEGER PRIMARY KEY REFERENCES spaces ON DELETE CASCADE,
    last_event_ms INTEGER NOT NULL
  ) STRICT`,
  // Imported messages can have times in the future, or years that SQLite cannot convert.
  `INSERT INTO space_clocks
    SELECT space_pk, CAST(round(unixepoch(max(created_at), 'subsec') * 1000) AS INTEGER)
    FROM messages WHERE created_at BETWEEN '1970' AND strftime('%Y-%m-%dT%H:%M:%fZ') GROUP BY space_pk`,

  `CREATE TABLE message_changes (
    message_id TEXT PRIMARY KEY,
    space_pk INTEGER NOT NULL REFERENCES spaces ON DELETE CASCADE,
    changed_at TEXT NOT NULL
  ) STRICT, WITHOUT ROWID`,
  'CREATE INDEX message_changes_by_space ON message_changes (space_pk, changed_at, message_id)',
  'CREATE INDEX message_changes_by_time ON message_changes (changed_at)',
];
