import { CompiledQuery, sql } from 'kysely';
import { nextTurn } from '../../../system/event-loop.ts';
import { SERVER } from '../../../system/senders.ts';
import type { Database } from '../../schema.ts';
import type { WordIndex, WordPattern, WordQuery } from '../../word-index.ts';
import { estimateEntries } from './cost.ts';
import { sliceAround, sliceTerm } from './slices.ts';

/** Each word of a title is indexed twice: unchanged, and after this mark. No other term starts with it. */
const TITLE_MARK = '=';

// better-sqlite3 binds numbers as floating-point values, which FTS5 rejects as rowids.
const INSERT_DOCUMENT = 'INSERT INTO word_index (rowid, words) VALUES (CAST(? AS INTEGER), ?)';
const DELETE_DOCUMENT = 'DELETE FROM word_index WHERE rowid = CAST(? AS INTEGER)';

// Without the casts, SQLite would plan the statement again for every new value. See `placeholdersOf` in `prepared.ts`.
const FIND_NEXT = `SELECT rowid AS key FROM word_index
  WHERE rowid > CAST(? AS INTEGER) ORDER BY rowid LIMIT 1`;
const FIND = `SELECT rowid AS key FROM word_index
  WHERE word_index MATCH CAST(? AS TEXT) AND rowid > CAST(? AS INTEGER)
  ORDER BY rowid LIMIT CAST(? AS INTEGER)`;

/** Number of entries that one statement reads, in about 4 ms. Longer searches end early, at the end of a slice. */
const MAX_ENTRIES_PER_STATEMENT = 80_000;

/** In a slice, the cost of an entry is about this many times as high, because it is compared with the slice's terms. */
const SLICED_ENTRY_COST = 2;

/** Number of terms that `terms` reads, in a few milliseconds, before it yields to the event loop. */
const TERMS_PER_TURN = 1_000;

/** An FTS5 table whose rowids are the keys, so that FTS5 returns matches in the order of results. */
export const wordIndex: WordIndex = {
  async add(db, documents) {
    for (const { key, words } of documents) {
      const titleTerms = words.title.map((word) => TITLE_MARK + word);
      const terms = [...words.all, ...titleTerms, sliceTerm(key)].join(' ');
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

  async find(db, query, { after, limit, maxEntries }, statistics) {
    const entries = estimateEntries(statistics, query, limit);
    if (entries <= MAX_ENTRIES_PER_STATEMENT) {
      if (entries > maxEntries) return undefined;
      const keys = await selectKeys(db, FIND, [fts5Query(query), after, limit]);
      return { keys, entries, reached: lastKeyAtLimit(keys, limit) ?? Infinity };
    }
    const [next] = await selectKeys(db, FIND_NEXT, [after]);
    if (next === undefined) return { keys: [], entries: 0, reached: Infinity };
    const entriesPerDocument = (entries * SLICED_ENTRY_COST) / statistics.documents;
    const maxDocuments = MAX_ENTRIES_PER_STATEMENT / entriesPerDocument;
    const { prefix, documents, lastKey } = sliceAround(next, maxDocuments, statistics);
    const slicedEntries = documents * entriesPerDocument;
    if (slicedEntries > maxEntries) return undefined;
    const keys = await selectKeys(db, FIND, [fts5Query(query, prefix), after, limit]);
    await nextTurn(SERVER);
    return { keys, entries: slicedEntries, reached: lastKeyAtLimit(keys, limit) ?? lastKey };
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
      if (count % TERMS_PER_TURN === 0) await nextTurn(SERVER);
      if (!row.term.startsWith(TITLE_MARK)) yield row;
    }
  },
};

async function selectKeys(
  db: Database,
  statement: string,
  parameters: (string | number)[],
): Promise<number[]> {
  const { rows } = await db.executeQuery<{ key: number }>(CompiledQuery.raw(statement, parameters));
  return rows.map(({ key }) => key);
}

/** Returns the last key if the statement stopped at its limit; undefined if it searched its whole range. */
function lastKeyAtLimit(keys: number[], limit: number): number | undefined {
  return keys.length < limit ? undefined : keys.at(-1);
}

/**
 * Translates a query into FTS5's syntax.
 * @param slice only documents with a term that begins with this match
 */
function fts5Query({ pattern, scope }: WordQuery, slice?: string): string {
  const bound = slice && `"${slice}"*`;
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
