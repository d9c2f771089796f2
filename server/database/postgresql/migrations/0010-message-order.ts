import { type Kysely, sql } from 'kysely';

/** See the migration of the same name for SQLite. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  'DROP INDEX messages_by_space',
  'CREATE INDEX messages_by_space ON messages (space_pk, created_at, message_id, author_pk)',

  // Every message updates a row. Free space on its page allows PostgreSQL to do that without changing the index.
  `CREATE TABLE space_clocks (
    space_pk bigint PRIMARY KEY REFERENCES spaces ON DELETE CASCADE,
    last_event_ms bigint NOT NULL
  ) WITH (fillfactor = 50)`,
  `INSERT INTO space_clocks
    SELECT space_pk, extract(epoch FROM max(created_at)::timestamptz) * 1000
    FROM messages
    WHERE created_at BETWEEN '1970' AND to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
    GROUP BY space_pk`,

  `CREATE TABLE message_changes (
    message_id text COLLATE "C" PRIMARY KEY,
    space_pk bigint NOT NULL REFERENCES spaces ON DELETE CASCADE,
    changed_at text COLLATE "C" NOT NULL
  )`,
  'CREATE INDEX message_changes_by_space ON message_changes (space_pk, changed_at, message_id)',
  'CREATE INDEX message_changes_by_time ON message_changes (changed_at)',

  // See `order-locks.ts`.
  ...Array.from({ length: 64 }, (_, index) => `CREATE TABLE message_order_${index} ()`),
];
