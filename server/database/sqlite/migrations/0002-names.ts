import { type Kysely, sql } from 'kysely';

/**
 * Renames internal keys to `pk` and `…_pk`, so that they are not mistaken for public ids, and `picture` to `avatar`.
 * Renaming a column changes only the schema and does not rewrite the table.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const [table, columns] of Object.entries(RENAMED_COLUMNS)) {
    for (const [from, to] of Object.entries(columns)) {
      await sql.raw(`ALTER TABLE ${table} RENAME COLUMN ${from} TO ${to}`).execute(db);
    }
  }
  await sql`DROP INDEX users_by_picture`.execute(db);
  await sql`CREATE UNIQUE INDEX users_by_avatar ON users (avatar) WHERE avatar IS NOT NULL`.execute(
    db,
  );
}

const RENAMED_COLUMNS = {
  users: { id: 'pk', picture: 'avatar' },
  sessions: { id: 'pk', user: 'user_pk' },
  spaces: { id: 'pk', creator: 'creator_pk' },
  participations: { space: 'space_pk', user: 'user_pk' },
  tags: { id: 'tag_id' },
  space_tags: { space: 'space_pk', tag: 'tag_id' },
  messages: { id: 'pk', space: 'space_pk', author: 'author_pk' },
  appreciations: { message: 'message_pk', user: 'user_pk', author: 'author_pk' },
  public_spaces: { space: 'space_pk', creator: 'creator_pk' },
  tag_hits: { tag: 'tag_id' },
  discarded_avatars: { picture: 'avatar' },
};
