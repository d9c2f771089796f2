import { sql } from 'kysely';
import type { DatabaseTransaction } from '../engine.ts';

/** Indexes that an import does not read. Their tables are empty if there are no spaces. */
const DROPPED_INDEXES = [
  'appreciations_by_author',
  'appreciations_by_message',
  'appreciations_by_user',
  'messages_by_author',
  'current_participations_by_user',
  'participations_by_space',
  'participations_by_user',
  'past_participations_by_user',
  'public_spaces_by_creator',
  'public_spaces_by_title',
  'removals_by_space',
  'space_tags_by_tag',
  'spaces_by_creator',
];

/** See `Engine.dropIndexes`. A rollback restores the indexes. */
export async function dropIndexes(trx: DatabaseTransaction): Promise<() => Promise<void>> {
  const { last } = await trx
    .selectFrom('spaces')
    .select(({ fn }) => fn.max<number | null>('pk').as('last'))
    .executeTakeFirstOrThrow();
  if (last !== null) return async () => {};
  const { rows } = await sql<{ name: string; sql: string }>`
    SELECT name, sql FROM sqlite_schema
    WHERE type = 'index' AND name IN (${sql.join(DROPPED_INDEXES)})`.execute(trx);
  for (const { name } of rows) await sql`DROP INDEX ${sql.id(name)}`.execute(trx);
  return async () => {
    for (const index of rows) await sql.raw(index.sql).execute(trx);
  };
}
