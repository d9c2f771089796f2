import { type RawBuilder, sql } from 'kysely';
import type { QueryWord, Term } from '../../search/words.ts';
import type { TextIndex, TextScope } from '../engine.ts';

const tables = { title: 'title_words', all: 'all_words' } as const;

/** The word index as two FTS5 tables whose rowids are the keys, so that matches come in the order of results. */
export const textIndex: TextIndex = {
  async add(db, key, words) {
    for (const [scope, table] of Object.entries(tables)) {
      // A bound number is a floating-point one, which FTS5 does not take for a rowid.
      await sql`INSERT INTO ${sql.table(table)} (rowid, words)
        VALUES (CAST(${key} AS INTEGER), ${words[scope as TextScope].join(' ')})`.execute(db);
    }
  },

  async remove(db, key) {
    for (const table of Object.values(tables)) {
      await sql`DELETE FROM ${sql.table(table)} WHERE rowid = CAST(${key} AS INTEGER)`.execute(db);
    }
  },

  matches(scope, words, after) {
    const table = sql.table(tables[scope]);
    return sql`(SELECT rowid AS key FROM ${table}
      WHERE ${table} MATCH ${expression(words)} AND rowid > CAST(${after} AS INTEGER) ORDER BY rowid)`;
  },

  holds(scope, words, key): RawBuilder<boolean> {
    const table = sql.table(tables[scope]);
    return sql`EXISTS (SELECT 1 FROM ${table} WHERE ${table} MATCH ${expression(words)} AND rowid = ${key})`;
  },
};

/** Words in FTS5's query language: quoted, so that nothing in them is syntax. */
function expression(words: readonly QueryWord[]): string {
  return words.map(({ anyOf }) => `(${anyOf.map(allOf).join(' OR ')})`).join(' AND ');
}

function allOf(terms: readonly Term[]): string {
  return `(${terms.map(({ text, beginning }) => `"${text}"${beginning ? '*' : ''}`).join(' AND ')})`;
}
