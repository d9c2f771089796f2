import { CompiledQuery, sql } from 'kysely';
import type { Database } from '../../engine.ts';
import {
  endOf,
  KEY_BYTES,
  keyAt,
  LAST_UPPER,
  MIN_TERM_BYTE,
  positionOf,
  termAt,
  toBytes,
} from './positions.ts';
import { keysOfTerm, unpackPostings } from './postings.ts';
import { AFTER_ALL_TERMS, FIRST_WORD, type MarkedWord, type Term } from './terms.ts';

// A posting is a term and the key of a document that contains it. The index has all postings, sorted by term and then
// by key, and divided into blocks of about the same number of bytes. So a block contains a part of the list of a
// frequent term, or the whole lists of many rare terms.

/** The keys of a term in one block. */
export interface KeyBlock {
  /** The block has the keys of the term up to this one. Infinity if the block ends after the list. */
  upper: number;
  keys: readonly number[];
}

/** The next keys of a posting list. */
export interface ListRequest {
  term: Term;
  /** Skips smaller keys. */
  from: number;
}

/** A block that can contain words with a prefix. */
export interface PrefixBlock {
  /** The last posting that the block can contain. */
  upperTerm: Term;
  upperKey: number;
  /** Whether blocks between the previous one and this one were skipped. */
  isAfterGap: boolean;
  /** Also has other words, if it is the first or the last block. */
  postings: Buffer;
}

/**
 * Limits the cost of a prefix that many invented words begin with. Searches miss the words in further blocks. About
 * seventy rare words fit into a block.
 */
const MAX_BLOCKS_OF_PREFIX = 1_000;

/** A document that has changed since the last merge. The blocks can contain it with its earlier words. */
export interface ChangedDocument {
  key: number;
  /** Undefined if it was removed. */
  words: MarkedWord[] | undefined;
}

interface BlockRow {
  /** Index of the list or prefix in the request. */
  list: number;
  upper: Buffer;
  postings: Buffer;
}

// These statements are plain text, because compiling them with Kysely takes longer than running them, and every search
// runs them. Their parameters are in subqueries, so that the planner cannot estimate the number of elements. Otherwise,
// it would plan every execution again.

const LAST_UPPER_SQL = `'\\x${LAST_UPPER.toString('hex')}'::bytea`;
const MIN_TERM_BYTE_SQL = `'\\x${Buffer.from(MIN_TERM_BYTE).toString('hex')}'::bytea`;

const positionSql = (term: string, key: string) =>
  `(${term} || '\\x00'::bytea || substring(int8send(${key}) FROM ${8 - KEY_BYTES + 1}))`;
const termSql = (position: string) =>
  `substring(${position} FROM 1 FOR length(${position}) - ${KEY_BYTES + 1})`;
const keySql = (position: string) =>
  `('x' || encode(substring(${position} FROM length(${position}) - ${KEY_BYTES - 1}), 'hex'))::bit(${8 * KEY_BYTES})::bigint`;

/** The next blocks of lists. The last block of a list can end after the last position of the list. */
const nextBlocksSql = (count: number) => `
  SELECT lists.number::int - 1 AS list, block.upper, block.postings
  FROM unnest((SELECT $1::bytea[]), (SELECT $2::bytea[])) WITH ORDINALITY
    AS lists (begin, "end", number), LATERAL (
    SELECT upper, postings FROM word_blocks
    WHERE upper >= lists.begin AND upper <= coalesce(
      (SELECT upper FROM word_blocks WHERE upper >= lists."end" ORDER BY upper LIMIT 1),
      ${LAST_UPPER_SQL})
    ORDER BY upper LIMIT ${count}) AS block`;

/** The blocks of prefixes. Each iteration skips the remaining blocks of the last word in the previous block. */
const PREFIX_BLOCKS_SQL = `
  SELECT prefixes.number::int - 1 AS list, block.*
  FROM unnest((SELECT $3::bytea[]), (SELECT $4::bytea[])) WITH ORDINALITY
    AS prefixes (begin, "end", number), LATERAL (
    WITH RECURSIVE found AS (
      (SELECT upper, postings, false AS is_after_gap FROM word_blocks
        WHERE upper >= prefixes.begin ORDER BY upper LIMIT 1)
      UNION ALL
      SELECT following.* FROM found, LATERAL (
        SELECT upper, postings, upper > (
          SELECT upper FROM word_blocks WHERE upper > found.upper ORDER BY upper LIMIT 1)
        FROM word_blocks
        WHERE found.upper < prefixes."end" AND upper >= ${termSql('found.upper')} || ${MIN_TERM_BYTE_SQL}
        ORDER BY upper LIMIT 1) AS following
    ) SELECT * FROM found LIMIT ${MAX_BLOCKS_OF_PREFIX}) AS block`;

const firstBlocksSql = (count: number) => `
  SELECT 'list' AS kind, list, upper, postings, false AS is_after_gap, NULL::bigint AS key,
    NULL::text AS words
  FROM (${nextBlocksSql(count)}) AS lists
  UNION ALL
  SELECT 'prefix', list, upper, postings, is_after_gap, NULL, NULL FROM (${PREFIX_BLOCKS_SQL}) AS prefixes
  UNION ALL
  SELECT 'change', NULL, NULL, NULL, NULL, key, added FROM word_changes
  ORDER BY kind, list, upper`;

/** Blocks that can contain one of the keys. Each iteration skips to the first key after the previous block. */
const BLOCKS_OF_KEYS_SQL = `
  SELECT lists.number::int - 1 AS list, block.upper, block.postings
  FROM (SELECT (SELECT $2::bigint[]) AS keys OFFSET 0) AS wanted,
    unnest((SELECT $1::bytea[])) WITH ORDINALITY AS lists (term, number), LATERAL (
    WITH RECURSIVE found AS (
      (SELECT upper, postings FROM word_blocks
        WHERE upper >= ${positionSql('lists.term', 'wanted.keys[1]')} ORDER BY upper LIMIT 1)
      UNION ALL
      SELECT following.upper, following.postings FROM found, LATERAL (
        SELECT upper, postings FROM word_blocks
        WHERE ${termSql('found.upper')} = lists.term AND upper >= ${positionSql(
          'lists.term',
          `wanted.keys[width_bucket(${keySql('found.upper')}, wanted.keys) + 1]`,
        )}
        ORDER BY upper LIMIT 1) AS following
    ) SELECT * FROM found) AS block
  ORDER BY list, upper`;

interface FirstRow extends BlockRow {
  kind: 'list' | 'prefix' | 'change';
  is_after_gap: boolean;
  key: number;
  words: string | null;
}

/**
 * Reads the beginnings of posting lists, and the words that begin with prefixes. The same statement reads the unmerged
 * changes, so that no change is missing or applied twice if a merge runs at the same time.
 * @param count number of blocks of each list
 */
export async function readFirstBlocks(
  db: Database,
  lists: readonly ListRequest[],
  count: number,
  prefixes: readonly Term[],
): Promise<{ lists: KeyBlock[][]; prefixes: PrefixBlock[][]; changes: ChangedDocument[] }> {
  const rows = await readRows<FirstRow>(db, firstBlocksSql(count), [
    ...boundsOf(lists),
    toBytes(prefixes),
    toBytes(prefixes.map((prefix) => prefix + AFTER_ALL_TERMS)),
  ]);
  const ofKind = (kind: string) => rows.filter((row) => row.kind === kind);
  return {
    lists: keyBlocks(lists, ofKind('list')),
    prefixes: prefixBlocks(ofKind('prefix'), prefixes.length),
    changes: ofKind('change').map(({ key, words }) => ({ key, words: words?.split(' ') })),
  };
}

/** Returns the next `count` blocks of each list. */
export async function readNextBlocks(
  db: Database,
  lists: readonly ListRequest[],
  count: number,
): Promise<KeyBlock[][]> {
  const statement = `${nextBlocksSql(count)} ORDER BY list, upper`;
  return keyBlocks(lists, await readRows<BlockRow>(db, statement, boundsOf(lists)));
}

function boundsOf(lists: readonly ListRequest[]): [begins: Buffer[], ends: Buffer[]] {
  return [
    toBytes(lists.map(({ term, from }) => positionOf(term, from))),
    toBytes(lists.map(({ term }) => endOf(term))),
  ];
}

/**
 * Returns for each term the blocks that can contain one of the keys.
 * @param keys in ascending order
 */
export async function readBlocksOfKeys(
  db: Database,
  terms: readonly Term[],
  keys: readonly number[],
): Promise<KeyBlock[][]> {
  // An array literal, because the driver would escape each key of an array.
  const array = `{${keys.join()}}`;
  const rows = await readRows<BlockRow>(db, BLOCKS_OF_KEYS_SQL, [toBytes(terms), array]);
  return keyBlocks(
    terms.map((term) => ({ term })),
    rows,
  );
}

async function readRows<Row>(
  db: Database,
  statement: string,
  parameters: readonly unknown[],
): Promise<Row[]> {
  const { rows } = await db.executeQuery<Row>(CompiledQuery.raw(statement, [...parameters]));
  return rows;
}

/** Groups rows by list. */
function groupRows<Row extends BlockRow>(rows: readonly Row[], listCount: number): Row[][] {
  const groups: Row[][] = Array.from({ length: listCount }, () => []);
  for (const row of rows) groups[row.list]?.push(row);
  return groups;
}

function keyBlocks(lists: readonly { term: Term }[], rows: readonly BlockRow[]): KeyBlock[][] {
  return groupRows(rows, lists.length).map((blocks, list) => {
    const { term } = lists[list] as { term: Term };
    return blocks.map(({ upper, postings }) => {
      const position = upper.toString('latin1');
      return {
        upper: termAt(position) === term ? keyAt(position) : Infinity,
        keys: keysOfTerm(postings, term),
      };
    });
  });
}

function prefixBlocks(rows: readonly FirstRow[], prefixCount: number): PrefixBlock[][] {
  return groupRows(rows, prefixCount).map((blocks) =>
    blocks.map(({ upper, postings, is_after_gap }) => {
      const position = upper.toString('latin1');
      return {
        upperTerm: termAt(position),
        upperKey: keyAt(position),
        isAfterGap: is_after_gap,
        postings,
      };
    }),
  );
}

const BLOCKS_PER_FETCH = 1_000;

/** Yields the words of scope `all` with their numbers of documents, in the order of their terms. */
export async function* readWordSizes(db: Database): AsyncGenerator<{ term: Term; size: number }> {
  const rows = db
    .selectFrom(sql<{ upper: Buffer; postings: Buffer }>`word_blocks`.as('blocks'))
    .select('postings')
    .where('upper', '>=', Buffer.from(FIRST_WORD))
    .orderBy('upper')
    .stream(BLOCKS_PER_FETCH);
  let current = { term: FIRST_WORD, size: 0 };
  for await (const { postings } of rows) {
    for (const { term, size } of unpackPostings(postings)) {
      if (term < FIRST_WORD) continue;
      if (term === current.term) {
        current.size += size;
        continue;
      }
      if (current.size > 0) yield current;
      current = { term, size };
    }
  }
  if (current.size > 0) yield current;
}
