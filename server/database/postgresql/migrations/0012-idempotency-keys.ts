import { type Kysely, sql } from 'kysely';

/** Adds the keys of requests that must take effect once. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const TEXT = 'text COLLATE "C"';

const statements = [
  `CREATE TABLE idempotency_keys (
    user_pk bigint NOT NULL REFERENCES users ON DELETE CASCADE,
    key_hash ${TEXT} NOT NULL,
    request_hash ${TEXT} NOT NULL,
    created_id ${TEXT} NOT NULL,
    created_at ${TEXT} NOT NULL,
    PRIMARY KEY (user_pk, key_hash)
  )`,
  'CREATE INDEX idempotency_keys_by_creation ON idempotency_keys (created_at)',
];
