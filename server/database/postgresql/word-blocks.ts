import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../engine.ts';
import { packKeys, unpackKeys } from './packed-keys.ts';

/**
 * Part of the list of a term: its keys up to and including `upper`, and after the `upper` of the block before. A key
 * after all blocks goes to a block with the `upper` LAST, so that the row of a block keeps its place when keys are added.
 */
export interface Block {
  upper: number;
  keys: number[];
}

/** Greater than every key. */
export const LAST = Number.MAX_SAFE_INTEGER;

/** A block with more keys is divided. Small enough to be rewritten for every added key. */
const MAX_KEYS_PER_BLOCK = 256;

/** Terms per statement, so that a statement with the words of thousands of documents does not become too large. */
const TERMS_PER_STATEMENT = 5_000;

/** Keys to add to and to remove from the list of a term, both in ascending order. */
export interface Change {
  added: readonly number[];
  removed: readonly number[];
}

interface BlockRow {
  /** Index in the requested terms, from 0. */
  list: number;
  upper: number;
  keys: Buffer;
}

/** Reads the next `count` blocks with keys from `from` on of each term. Returns the blocks by term. */
export async function readNextBlocks(
  db: Database,
  terms: readonly string[],
  from: number,
  count: number,
): Promise<Block[][]> {
  const { rows } = await sql<BlockRow>`
    SELECT lists.number::int - 1 AS list, block.upper, block.keys
    FROM unnest(${terms}::text[]) WITH ORDINALITY AS lists (term, number), LATERAL (
      SELECT upper, keys FROM word_blocks
      WHERE word_blocks.term = lists.term AND upper >= ${from}::bigint
      ORDER BY upper LIMIT ${count}::int) AS block
    ORDER BY list, block.upper`.execute(db);
  return blocksByList(terms, rows);
}

/**
 * Reads the blocks of each term that can contain one of the keys. Each iteration skips to the first key after the block
 * before.
 * @param keys in ascending order
 */
export async function readBlocksOfKeys(
  db: Database,
  terms: readonly string[],
  keys: readonly number[],
): Promise<Block[][]> {
  const { rows } = await sql<BlockRow>`
    SELECT lists.number::int - 1 AS list, block.upper, block.keys
    FROM (SELECT ${keys}::bigint[] AS keys) AS wanted,
      unnest(${terms}::text[]) WITH ORDINALITY AS lists (term, number), LATERAL (
      WITH RECURSIVE found AS (
        (SELECT upper, keys FROM word_blocks
          WHERE term = lists.term AND upper >= wanted.keys[1] ORDER BY upper LIMIT 1)
        UNION ALL
        SELECT following.upper, following.keys FROM found, LATERAL (
          SELECT upper, keys FROM word_blocks
          WHERE term = lists.term AND upper >= wanted.keys[width_bucket(found.upper, wanted.keys) + 1]
          ORDER BY upper LIMIT 1) AS following
      ) SELECT * FROM found) AS block
    ORDER BY list, block.upper`.execute(db);
  return blocksByList(terms, rows);
}

function blocksByList(terms: readonly string[], rows: readonly BlockRow[]): Block[][] {
  const blocks: Block[][] = terms.map(() => []);
  for (const { list, upper, keys } of rows) {
    blocks[list]?.push({ upper, keys: unpackKeys(keys) });
  }
  return blocks;
}

/**
 * Adds keys to the lists of terms. The caller's transaction must be the only one that changes lists.
 * @param lists new keys by term, in ascending order
 */
export async function addToLists(
  db: Database,
  lists: ReadonlyMap<string, readonly number[]>,
): Promise<void> {
  await changeLists(db, lists, (added) => ({ added, removed: [] }));
}

/** Like `addToLists`, but removes keys. */
export async function removeFromLists(
  db: Database,
  lists: ReadonlyMap<string, readonly number[]>,
): Promise<void> {
  await changeLists(db, lists, (removed) => ({ added: [], removed }));
}

async function changeLists(
  db: Database,
  lists: ReadonlyMap<string, readonly number[]>,
  changeOf: (keys: readonly number[]) => Change,
): Promise<void> {
  // Sorted, so that neighbours in the index are read and written together.
  const terms = [...lists.keys()].sort();
  let changed: ChangedBlocks = { inserted: [], updated: [], deleted: [] };
  for (let i = 0; i < terms.length; i += TERMS_PER_STATEMENT) {
    const part = terms.slice(i, i + TERMS_PER_STATEMENT);
    const changes = part.map((term) => changeOf(lists.get(term) as readonly number[]));
    const change = async () => {
      const blocks = await readChangingBlocks(db, part, changes);
      // Lets the connection send the next statement, so that PostgreSQL writes while this process computes.
      if (i > 0) await yieldToEventLoop();
      return changedBlocks(part, blocks, changes);
    };
    [changed] = await Promise.all([change(), writeBlocks(db, changed)]);
  }
  await writeBlocks(db, changed);
}

/** Reads the blocks that contain the range of each change. */
async function readChangingBlocks(
  db: Database,
  terms: readonly string[],
  changes: readonly Change[],
): Promise<Block[][]> {
  const ranges = changes.map(({ added, removed }) => {
    const first = Math.min(added[0] ?? LAST, removed[0] ?? LAST);
    return { first, last: Math.max(added.at(-1) ?? first, removed.at(-1) ?? first) };
  });
  // Most new documents contain words without a list, so the first condition only looks for one.
  const { rows } = await sql<BlockRow>`
    SELECT lists.number::int - 1 AS list, block.upper, block.keys
    FROM unnest(${terms}::text[], ${ranges.map(({ first }) => first)}::bigint[],
        ${ranges.map(({ last }) => last)}::bigint[])
      WITH ORDINALITY AS lists (term, first, last, number), LATERAL (
      SELECT upper, keys FROM word_blocks
      WHERE (SELECT true FROM word_blocks WHERE word_blocks.term = lists.term LIMIT 1)
        AND word_blocks.term = lists.term AND upper >= lists.first AND upper <= coalesce((
        SELECT min(upper) FROM word_blocks WHERE word_blocks.term = lists.term AND upper >= lists.last),
        ${LAST}::bigint)) AS block
    ORDER BY list, block.upper`.execute(db);
  return blocksByList(terms, rows);
}

interface ChangedBlocks {
  inserted: WrittenBlock[];
  updated: WrittenBlock[];
  deleted: { term: string; upper: number }[];
}

function changedBlocks(
  terms: readonly string[],
  lists: readonly Block[][],
  changes: readonly Change[],
): ChangedBlocks {
  const changed: ChangedBlocks = { inserted: [], updated: [], deleted: [] };
  for (const [list, blocks] of lists.entries()) {
    const term = terms[list] as string;
    for (const { upper, keys } of changeBlocks(blocks, changes[list] as Change)) {
      if (keys.length === 0) {
        changed.deleted.push({ term, upper });
        continue;
      }
      const exists = blocks.some((each) => each.upper === upper);
      const target = exists ? changed.updated : changed.inserted;
      target.push({ term, upper, size: keys.length, keys: packKeys(keys) });
    }
  }
  return changed;
}

async function writeBlocks(
  db: Database,
  { inserted, updated, deleted }: ChangedBlocks,
): Promise<void> {
  if (inserted.length > 0) {
    await sql`
      INSERT INTO word_blocks (term, upper, size, keys)
      SELECT term, upper, size, keys FROM ${unnestBlocks(inserted)}`.execute(db);
  }
  if (updated.length > 0) {
    await sql`
      UPDATE word_blocks SET size = changed.size, keys = changed.keys
      FROM ${unnestBlocks(updated)}
      WHERE word_blocks.term = changed.term AND word_blocks.upper = changed.upper`.execute(db);
  }
  if (deleted.length > 0) {
    await sql`
      DELETE FROM word_blocks USING unnest(${deleted.map(({ term }) => term)}::text[],
        ${deleted.map(({ upper }) => upper)}::bigint[]) AS emptied (term, upper)
      WHERE word_blocks.term = emptied.term AND word_blocks.upper = emptied.upper`.execute(db);
  }
}

interface WrittenBlock {
  term: string;
  upper: number;
  size: number;
  keys: Buffer;
}

function unnestBlocks(blocks: readonly WrittenBlock[]): RawBuilder<unknown> {
  return sql`unnest(${blocks.map(({ term }) => term)}::text[],
    ${blocks.map(({ upper }) => upper)}::bigint[],
    ${blocks.map(({ size }) => size)}::smallint[],
    ${blocks.map(({ keys }) => keys)}::bytea[]) AS changed (term, upper, size, keys)`;
}

/**
 * Returns the blocks that change, with their new keys. A block without keys is to be deleted.
 * @param blocks consecutive blocks whose ranges contain all keys of the change; empty if the term has no list
 */
export function changeBlocks(blocks: readonly Block[], { added, removed }: Change): Block[] {
  // The list of a new word, as most are.
  if (blocks.length === 0) return added.length === 0 ? [] : divide(LAST, added);
  const isRemoved = new Set(removed);
  const changed: Block[] = [];
  const lastBlock = blocks.at(-1)?.upper === LAST ? [] : [{ upper: LAST, keys: [] }];
  let next = 0;
  for (const block of [...blocks, ...lastBlock]) {
    const begin = next;
    while (next < added.length && (added[next] as number) <= block.upper) next += 1;
    const kept =
      removed.length === 0 ? block.keys : block.keys.filter((key) => !isRemoved.has(key));
    const isChanged = kept.length < block.keys.length || next > begin;
    if (isChanged) changed.push(...divide(block.upper, mergeKeys(kept, added.slice(begin, next))));
  }
  return changed;
}

function mergeKeys(keys: readonly number[], added: readonly number[]): readonly number[] {
  if (added.length === 0) return keys;
  const isAfterAll = (added[0] as number) > (keys.at(-1) ?? -1);
  return isAfterAll ? [...keys, ...added] : [...new Set([...keys, ...added])].sort((a, b) => a - b);
}

/** Divides keys into blocks of about equal size. The last one keeps `upper`. */
function divide(upper: number, keys: readonly number[]): Block[] {
  const parts = Math.max(1, Math.ceil(keys.length / MAX_KEYS_PER_BLOCK));
  return Array.from({ length: parts }, (_, part) => {
    const partKeys = keys.slice(
      Math.floor((keys.length * part) / parts),
      Math.floor((keys.length * (part + 1)) / parts),
    );
    return { upper: part === parts - 1 ? upper : (partKeys.at(-1) as number), keys: partKeys };
  });
}
