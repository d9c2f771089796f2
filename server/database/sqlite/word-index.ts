import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { CompiledQuery, sql } from 'kysely';
import type { WordIndex, WordPattern, WordQuery } from '../word-index.ts';

/** Each word of a title is indexed twice: unchanged, and after this mark. No other term starts with it. */
const TITLE_MARK = '=';

// better-sqlite3 binds numbers as floating-point values, which FTS5 rejects as rowids.
const INSERT_DOCUMENT = 'INSERT INTO word_index (rowid, words) VALUES (CAST(? AS INTEGER), ?)';
const DELETE_DOCUMENT = 'DELETE FROM word_index WHERE rowid = CAST(? AS INTEGER)';

// Without the casts, SQLite would plan the statement again for every new value. See `placeholdersOf` in `prepared.ts`.
const FIND = `SELECT rowid AS key FROM word_index
  WHERE word_index MATCH CAST(? AS TEXT) AND rowid > CAST(? AS INTEGER)
  ORDER BY rowid LIMIT CAST(? AS INTEGER)`;

/** Number of terms that `terms` reads, in a few milliseconds, before it yields to the event loop. */
const TERMS_PER_TURN = 1_000;

/** An FTS5 table whose rowids are the keys, so that FTS5 returns matches in the order of results. */
export const wordIndex: WordIndex = {
  async add(db, documents) {
    for (const { key, words } of documents) {
      const terms = [...words.all, ...words.title.map((word) => TITLE_MARK + word)].join(' ');
      await db.executeQuery(CompiledQuery.raw(INSERT_DOCUMENT, [key, terms]));
    }
  },

  async remove(db, keys) {
    for (const key of keys) {
      await db.executeQuery(CompiledQuery.raw(DELETE_DOCUMENT, [key]));
    }
  },

  async optimize(db) {
    await sql`INSERT INTO word_index (word_index) VALUES ('optimize')`.execute(db);
  },

  async clear(db) {
    await sql`INSERT INTO word_index (word_index) VALUES ('delete-all')`.execute(db);
  },

  async find(db, query, { after, limit, within }) {
    const parameters = [fts5Query(query, within?.prefixes), after, limit];
    const { rows } = await db.executeQuery<{ key: number }>(CompiledQuery.raw(FIND, parameters));
    return rows.map(({ key }) => key);
  },

  async *terms(db) {
    const rows = db
      .selectFrom(sql<{ term: string; documents: number }>`word_index_terms`.as('terms'))
      .select(['term', sql<number>`doc`.as('documents')])
      .stream();
    let count = 0;
    for await (const row of rows) {
      count += 1;
      // Otherwise, tasks of the thread would wait until all terms of the index have been read.
      if (count % TERMS_PER_TURN === 0) await yieldToEventLoop();
      if (!row.term.startsWith(TITLE_MARK)) yield row;
    }
  },
};

/**
 * Translates a query into FTS5's syntax.
 * @param prefixes only documents with a term that begins with one of these match
 */
function fts5Query({ pattern, scope }: WordQuery, prefixes?: readonly string[]): string {
  const bound = prefixes && `(${prefixes.map((prefix) => `"${prefix}"*`).join(' OR ')})`;
  const marks = { title: [TITLE_MARK], all: [''], other: ['', TITLE_MARK] }[scope];
  const expressions = marks.map((mark) => {
    const expression = fts5Expression(pattern, mark, bound);
    return bound ? `(${bound} AND ${expression})` : expression;
  });
  return expressions.join(' NOT ');
}

/**
 * Translates a pattern into FTS5's syntax. Every term is quoted, so that none of it is parsed as syntax.
 * @param mark  precedes every term
 * @param bound an expression that limits the search. It is added to every conjunction, because FTS5 searches for the
 *   next match of each conjunction separately, up to the end of the list of one of its terms.
 */
function fts5Expression(pattern: WordPattern, mark: string, bound?: string): string {
  if ('term' in pattern) return `"${mark}${pattern.term}"${pattern.isPrefix ? '*' : ''}`;
  const isConjunction = 'allOf' in pattern;
  const parts = (isConjunction ? pattern.allOf : pattern.anyOf).map((part) =>
    fts5Expression(part, mark, bound),
  );
  if (parts.length === 1) return parts[0] as string;
  if (isConjunction && bound) parts.unshift(bound);
  return `(${parts.join(isConjunction ? ' AND ' : ' OR ')})`;
}
