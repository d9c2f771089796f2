import { CompiledQuery, sql } from 'kysely';
import type { QueryWord, Term, TextIndex } from '../engine.ts';

/** A word of a title is indexed twice: as it is, and behind this sign, which no word holds. */
const IN_TITLE = '=';

// A bound number is a floating-point one, which FTS5 does not take for a rowid.
const INSERT = 'INSERT INTO word_index (rowid, words) VALUES (CAST(? AS INTEGER), ?)';
const DELETE = 'DELETE FROM word_index WHERE rowid = CAST(? AS INTEGER)';

/** The word index as an FTS5 table whose rowids are the keys, so that matches come in the order of results. */
export const textIndex: TextIndex = {
  async add(db, key, { title, all }) {
    const words = [...all, ...title.map((word) => IN_TITLE + word)].join(' ');
    await db.executeQuery(CompiledQuery.raw(INSERT, [key, words]));
  },

  async remove(db, key) {
    await db.executeQuery(CompiledQuery.raw(DELETE, [key]));
  },

  async compact(db) {
    await sql`INSERT INTO word_index (word_index) VALUES ('optimize')`.execute(db);
  },

  pattern(words, scope) {
    if (scope === 'title') return pattern(words, IN_TITLE);
    if (scope === 'all') return pattern(words, '');
    return `(${pattern(words, '')}) NOT (${pattern(words, IN_TITLE)})`;
  },

  matches: (pattern, after) => sql`(SELECT rowid AS key FROM word_index
    WHERE word_index MATCH ${pattern} AND rowid > ${after} ORDER BY rowid)`,
};

/** Words in FTS5's query language: quoted, so that nothing in them is syntax. */
function pattern(words: readonly QueryWord[], mark: string): string {
  const allOf = (terms: readonly Term[]) =>
    terms.map(({ text, isPrefix }) => `"${mark}${text}"${isPrefix ? '*' : ''}`).join(' AND ');
  return words
    .map(({ anyOf }) => `(${anyOf.map((terms) => `(${allOf(terms)})`).join(' OR ')})`)
    .join(' AND ');
}
