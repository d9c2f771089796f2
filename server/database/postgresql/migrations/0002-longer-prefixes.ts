import { type Kysely, sql } from 'kysely';

/** Prefixes of seven to ten letters have posting lists, too. The next start fills them, because the version is 0. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`UPDATE search_index SET version = 0`.execute(db);
}
