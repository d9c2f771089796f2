import { randomBytes } from 'node:crypto';
import { type Kysely, sql } from 'kysely';

/**
 * Replaces the tables of words for corrections, which grew with every new word, by a dictionary of shared words that is
 * rebuilt in the background. The next start rebuilds the word index, because the version in `search_index` is 0.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
  await sql`INSERT INTO secrets (name, value) VALUES ('cursor key', ${randomBytes(32)})`.execute(
    db,
  );
}

const statements = [
  'DROP TABLE known_word_deletions',
  'DROP TABLE known_words',
  // Returns the number of documents of each term in the word index.
  "CREATE VIRTUAL TABLE word_index_terms USING fts5vocab('word_index', 'row')",
  `CREATE TABLE dictionary (
    version INTEGER NOT NULL,
    built_revision INTEGER NOT NULL,
    spaces INTEGER NOT NULL,
    min_documents INTEGER NOT NULL,
    trie BLOB NOT NULL
  ) STRICT`,
  // An empty trie: the subtree of its root ends at node 1.
  "INSERT INTO dictionary VALUES (0, 0, 0, 1, X'0100000000000000000000000000')",
  `CREATE TRIGGER search_revision_5 AFTER UPDATE OF version ON dictionary
    BEGIN UPDATE search_revision SET value = value + 1; END`,
  `CREATE TABLE spaces_to_index (
    space_pk INTEGER PRIMARY KEY,
    key INTEGER
  ) STRICT`,
  'CREATE INDEX spaces_to_index_by_key ON spaces_to_index (key)',
  'CREATE TABLE search_index (version INTEGER NOT NULL) STRICT',
  'INSERT INTO search_index VALUES (0)',
  'CREATE TABLE secrets (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID',
];
