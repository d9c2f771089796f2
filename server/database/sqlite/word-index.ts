import { CompiledQuery, sql } from 'kysely';
import type { QueryWord, Term } from '../../search/words/words.ts';
import type { WordIndex } from '../engine.ts';

/** Each word of a title is indexed twice: as it is, and with this prefix. No word starts with it. */
const TITLE_PREFIX = '=';

// better-sqlite3 binds numbers as floating-point, which FTS5 rejects as a rowid.
const INSERT_DOCUMENT = 'INSERT INTO word_index (rowid, words) VALUES (CAST(? AS INTEGER), ?)';
const DELETE_DOCUMENT = 'DELETE FROM word_index WHERE rowid = CAST(? AS INTEGER)';

/** An FTS5 table whose rowids are the keys, so that FTS5 returns matches in the order of results. */
export const wordIndex: WordIndex = {
  async add(db, key, { title, all }) {
    const words = [...all, ...title.map((word) => TITLE_PREFIX + word)].join(' ');
    await db.executeQuery(CompiledQuery.raw(INSERT_DOCUMENT, [key, words]));
  },

  async remove(db, key) {
    await db.executeQuery(CompiledQuery.raw(DELETE_DOCUMENT, [key]));
  },

  async optimize(db) {
    await sql`INSERT INTO word_index (word_index) VALUES ('optimize')`.execute(db);
  },

  pattern(words, scope) {
    if (scope === 'title') return fts5Query(words, TITLE_PREFIX);
    if (scope === 'all') return fts5Query(words, '');
    return `(${fts5Query(words, '')}) NOT (${fts5Query(words, TITLE_PREFIX)})`;
  },

  matches: (pattern, after) => sql`(SELECT rowid AS key FROM word_index
    WHERE word_index MATCH ${pattern} AND rowid > ${after} ORDER BY rowid)`,
};

/** Translates words into FTS5's query language. Every term is quoted, so that nothing in it is syntax. */
function fts5Query(words: readonly QueryWord[], prefix: string): string {
  const allOf = (terms: readonly Term[]) =>
    terms.map(({ text, beginning }) => `"${prefix}${text}"${beginning ? '*' : ''}`).join(' AND ');
  return words
    .map(({ anyOf }) => `(${anyOf.map((terms) => `(${allOf(terms)})`).join(' OR ')})`)
    .join(' AND ');
}
