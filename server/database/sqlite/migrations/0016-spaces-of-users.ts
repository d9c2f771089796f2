import { type Kysely, sql } from 'kysely';

/** An index for the list of a user's public spaces. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`CREATE INDEX public_spaces_by_creator ON public_spaces (creator_pk, space_pk)`.execute(
    db,
  );
}
