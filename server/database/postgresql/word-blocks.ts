import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../engine.ts';
import { packKeys, unpackKeys } from './packed-keys.ts';

/**
 * A part of the posting list of a term: its keys greater than the `upper` of the previous block, up to and including
 * its own `upper`. The last block has LAST_UPPER, so that its primary key does not change when greater keys are added.
 */
export interface Block {
  upper: number;
  keys: number[];
}

/** `upper` of the last block. Greater than every key. */
export const LAST_UPPER = Number.MAX_SAFE_INTEGER;

/** A block with more keys is split. Small enough to be rewritten for every added key. */
const MAX_KEYS_PER_BLOCK = 256;

/** Terms per statement, so that a statement with the words of thousands of documents does not become too large. */
const TERMS_PER_STATEMENT = 5_000;

/** Keys to add to and to remove from the list of a term, both in ascending order. */
export interface Change {
  added: readonly number[];
  removed: readonly number[];
}

interface BlockRow {
  /** Index of the term in the request. */
  list: number;
  upper: number;
  keys: Buffer;
}

/** Returns for each term its next `count` blocks with keys from `from` on. */
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
 * Returns for each term the blocks that can contain one of the keys. Each iteration skips to the first key after the
 * previous block.
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
 * Adds keys to the posting lists of terms. The caller's transaction must be the only one that changes lists. It is, if
 * it has written `public_spaces`: the trigger of this table locks the row of `search_revision`.
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
  let writes: BlockWrites = { inserted: [], updated: [], deleted: [] };
  for (let i = 0; i < terms.length; i += TERMS_PER_STATEMENT) {
    const part = terms.slice(i, i + TERMS_PER_STATEMENT);
    const changes = part.map((term) => changeOf(lists.get(term) as readonly number[]));
    const computeWrites = async () => {
      const blocks = await readChangingBlocks(db, part, changes);
      // Lets the connection send the previous part's writes, so that PostgreSQL runs them while this process computes.
      if (i > 0) await yieldToEventLoop();
      return collectWrites(part, blocks, changes);
    };
    [writes] = await Promise.all([computeWrites(), writeBlocks(db, writes)]);
  }
  await writeBlocks(db, writes);
}

/** Returns for each term the blocks whose ranges contain the keys of its change. */
async function readChangingBlocks(
  db: Database,
  terms: readonly string[],
  changes: readonly Change[],
): Promise<Block[][]> {
  const ranges = changes.map(({ added, removed }) => {
    const first = Math.min(added[0] ?? LAST_UPPER, removed[0] ?? LAST_UPPER);
    return { first, last: Math.max(added.at(-1) ?? first, removed.at(-1) ?? first) };
  });
  // The first condition quickly skips terms without a list. Most new documents contain some.
  const { rows } = await sql<BlockRow>`
    SELECT lists.number::int - 1 AS list, block.upper, block.keys
    FROM unnest(${terms}::text[], ${ranges.map(({ first }) => first)}::bigint[],
        ${ranges.map(({ last }) => last)}::bigint[])
      WITH ORDINALITY AS lists (term, first, last, number), LATERAL (
      SELECT upper, keys FROM word_blocks
      WHERE (SELECT true FROM word_blocks WHERE word_blocks.term = lists.term LIMIT 1)
        AND word_blocks.term = lists.term AND upper >= lists.first AND upper <= coalesce((
        SELECT min(upper) FROM word_blocks WHERE word_blocks.term = lists.term AND upper >= lists.last),
        ${LAST_UPPER}::bigint)) AS block
    ORDER BY list, block.upper`.execute(db);
  return blocksByList(terms, rows);
}

interface BlockWrites {
  inserted: WrittenBlock[];
  updated: WrittenBlock[];
  deleted: { term: string; upper: number }[];
}

function collectWrites(
  terms: readonly string[],
  lists: readonly Block[][],
  changes: readonly Change[],
): BlockWrites {
  const writes: BlockWrites = { inserted: [], updated: [], deleted: [] };
  for (const [list, blocks] of lists.entries()) {
    const term = terms[list] as string;
    for (const { upper, keys } of changeBlocks(blocks, changes[list] as Change)) {
      if (keys.length === 0) {
        writes.deleted.push({ term, upper });
        continue;
      }
      const exists = blocks.some((each) => each.upper === upper);
      const target = exists ? writes.updated : writes.inserted;
      target.push({ term, upper, size: keys.length, keys: packKeys(keys) });
    }
  }
  return writes;
}

async function writeBlocks(
  db: Database,
  { inserted, updated, deleted }: BlockWrites,
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
  // Most changed terms are new and have no list.
  if (blocks.length === 0) return added.length === 0 ? [] : split(LAST_UPPER, added);
  const removedKeys = new Set(removed);
  const changed: Block[] = [];
  const lastBlock = blocks.at(-1)?.upper === LAST_UPPER ? [] : [{ upper: LAST_UPPER, keys: [] }];
  let next = 0;
  for (const block of [...blocks, ...lastBlock]) {
    const begin = next;
    while (next < added.length && (added[next] as number) <= block.upper) next += 1;
    const kept =
      removed.length === 0 ? block.keys : block.keys.filter((key) => !removedKeys.has(key));
    const isChanged = kept.length < block.keys.length || next > begin;
    if (isChanged) changed.push(...split(block.upper, mergeKeys(kept, added.slice(begin, next))));
  }
  return changed;
}

function mergeKeys(keys: readonly number[], added: readonly number[]): readonly number[] {
  if (added.length === 0) return keys;
  const isAfterAll = (added[0] as number) > (keys.at(-1) ?? -1);
  return isAfterAll ? [...keys, ...added] : [...new Set([...keys, ...added])].sort((a, b) => a - b);
}

/** Splits keys into blocks of about equal size. The last one keeps `upper`. */
function split(upper: number, keys: readonly number[]): Block[] {
  const parts = Math.max(1, Math.ceil(keys.length / MAX_KEYS_PER_BLOCK));
  return Array.from({ length: parts }, (_, part) => {
    const partKeys = keys.slice(
      Math.floor((keys.length * part) / parts),
      Math.floor((keys.length * (part + 1)) / parts),
    );
    return { upper: part === parts - 1 ? upper : (partKeys.at(-1) as number), keys: partKeys };
  });
}
