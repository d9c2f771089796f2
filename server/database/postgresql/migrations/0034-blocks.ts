import { type Kysely, sql } from 'kysely';

/** Adds blocked users and muted spaces. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  `CREATE TABLE blocks (
    user_pk bigint NOT NULL REFERENCES users ON DELETE CASCADE,
    blocked_pk bigint NOT NULL REFERENCES users ON DELETE CASCADE,
    created_at text COLLATE "C" NOT NULL,
    PRIMARY KEY (user_pk, blocked_pk)
  )`,
  'CREATE INDEX blocks_by_time ON blocks (user_pk, created_at, blocked_pk)',
  'CREATE INDEX blocks_by_blocked ON blocks (blocked_pk)',
  `ALTER TABLE participations ADD COLUMN is_muted integer NOT NULL DEFAULT 0
    CHECK (is_muted IN (0, 1))`,
];
