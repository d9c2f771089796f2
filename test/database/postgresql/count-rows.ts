import { sql } from 'kysely';
import type { Database } from '../../../server/database/engine.ts';

/** Returns the number of rows in a table of the word index. */
export async function countRows(
  db: Database,
  table: 'word_blocks' | 'word_changes',
): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    SELECT count(*) AS count FROM ${sql.table(table)}`.execute(db);
  return rows[0]?.count as number;
}
