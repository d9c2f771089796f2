import { type Kysely, sql } from 'kysely';

/** Adds the index of the words of messages. Maintenance fills it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  // No foreign key, because deleting a space would then delete all its rows in one statement.
  `CREATE TABLE message_words (
    space_pk bigint NOT NULL,
    word text COLLATE "C" NOT NULL,
    sent_ms bigint NOT NULL,
    PRIMARY KEY (space_pk, word, sent_ms)
  )`,
  `CREATE TABLE indexed_messages (
    space_pk bigint PRIMARY KEY REFERENCES spaces ON DELETE CASCADE,
    created_at text COLLATE "C" NOT NULL,
    message_id text COLLATE "C" NOT NULL
  )`,
  'CREATE TABLE message_index (examined_pk bigint NOT NULL)',
  'INSERT INTO message_index VALUES (0)',
];
