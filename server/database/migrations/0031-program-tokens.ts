import { type Kysely, sql } from 'kysely';

/** Adds access tokens of programs, which are sessions with scopes. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE sessions ADD COLUMN token_name TEXT`.execute(db);
  await sql`ALTER TABLE sessions ADD COLUMN scopes TEXT`.execute(db);
  await sql`ALTER TABLE sessions ADD COLUMN expires_at TEXT`.execute(db);
  await sql`CREATE INDEX sessions_by_expiry ON sessions (expires_at)
    WHERE expires_at IS NOT NULL`.execute(db);
}
