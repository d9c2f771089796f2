import { type Kysely, sql } from 'kysely';

/** Adds the users whom messages mention. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`CREATE TABLE mentions (
    user_pk bigint NOT NULL REFERENCES users ON DELETE CASCADE,
    space_pk bigint NOT NULL,
    created_at text COLLATE "C" NOT NULL,
    message_pk bigint NOT NULL REFERENCES messages ON DELETE CASCADE,
    PRIMARY KEY (user_pk, space_pk, created_at, message_pk)
  )`.execute(db);
  await sql`CREATE INDEX mentions_by_message ON mentions (message_pk)`.execute(db);
}
