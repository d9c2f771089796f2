import { type Kysely, sql } from 'kysely';

/** FTS5 has at most 31 prefix indexes. Words have up to 30 characters, and those of titles have a sign before them. */
const PREFIX_LENGTHS = Array.from({ length: 31 }, (_, i) => i + 1).join(' ');

/**
 * Replaces the word index by one with a prefix index for each length of a word. For a prefix without an index of its
 * length, FTS5 collects and sorts all matches in each query, so frequent long words such as `implementation` were slow.
 * The next start fills it, because the version in `search_index` is 0.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  'DROP TABLE word_index',
  `CREATE VIRTUAL TABLE word_index USING fts5(
    words, content='', contentless_delete=1, detail=none, prefix='${PREFIX_LENGTHS}',
    tokenize="ascii tokenchars '=+#.'"
  )`,
  // For the reasons, see the first migration.
  "INSERT INTO word_index (word_index, rank) VALUES ('pgsz', 500)",
  "INSERT INTO word_index (word_index, rank) VALUES ('automerge', 0)",
  "INSERT INTO word_index (word_index, rank) VALUES ('crisismerge', 256)",
  "INSERT INTO word_index (word_index, rank) VALUES ('deletemerge', 0)",
  'UPDATE search_index SET version = 0',
];
