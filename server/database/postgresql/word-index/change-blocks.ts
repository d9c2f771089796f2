import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../../engine.ts';
import { ChangeQueue } from './change-queue.ts';
import type { ListChange } from './list-changes.ts';
import { changeKeys } from './packed-keys.ts';
import { LAST_POSITION, LAST_UPPER, type Position, toBytes } from './positions.ts';
import { type Postings, postingsOf, unpackPostings } from './postings.ts';
import { type Block, splitIntoBlocks } from './split-blocks.ts';
import { AFTER_ALL_TERMS, type Term } from './terms.ts';

/** Minimum number of postings per statement if few blocks change. */
const SPARSE_POSTINGS_PER_STATEMENT = 500;

/** Minimum number of postings per statement if most blocks change. */
const DENSE_POSTINGS_PER_STATEMENT = 20_000;

/** Approximate size of a row with its block, including its share of the page's free space. */
const BYTES_PER_BLOCK = 1_200;

/**
 * Adds keys to posting lists and removes keys from them. If most blocks change, reads whole ranges of blocks.
 * Otherwise, reads only the blocks that change.
 * @param changes in the order of their terms
 * @param isDense whether most blocks change; estimated if omitted
 */
export async function changeLists(
  db: Database,
  changes: readonly ListChange[],
  { isDense }: { isDense?: boolean } = {},
): Promise<void> {
  const queue = new ChangeQueue(changes);
  const readsAll = isDense ?? queue.size > 2 * (await estimateBlockCount(db));
  let writes: BlockWrites | undefined;
  while (!queue.isEmpty) {
    const computing = computeWrites(db, queue, readsAll, writes !== undefined);
    const writing = writes && writeBlocks(db, writes);
    // Both end before one throws. Otherwise, a statement could run after the rollback and be committed.
    await Promise.allSettled([computing, writing]);
    [writes] = await Promise.all([computing, writing]);
  }
  if (writes) await writeBlocks(db, writes);
}

async function estimateBlockCount(db: Database): Promise<number> {
  const { rows } = await sql<{ bytes: number }>`
    SELECT pg_relation_size('word_blocks') AS bytes`.execute(db);
  return (rows[0]?.bytes as number) / BYTES_PER_BLOCK;
}

/** Reads blocks for the next changes of the queue, applies the changes, and returns the rows to write. */
async function computeWrites(
  db: Database,
  queue: ChangeQueue,
  readsAll: boolean,
  isWriting: boolean,
): Promise<BlockWrites> {
  const positions = readsAll
    ? queue.peekRange(DENSE_POSTINGS_PER_STATEMENT)
    : queue.peekPositions(SPARSE_POSTINGS_PER_STATEMENT);
  const blocks = await (readsAll ? readRange : readAt)(db, positions);
  // Lets the connection send the previous writes, so that PostgreSQL runs them while this process computes.
  if (isWriting) await yieldToEventLoop();
  return collectWrites(blocks, queue, positions.at(-1) as Position);
}

/** Returns all blocks between the first and the last of these positions. */
async function readRange(db: Database, positions: readonly Position[]): Promise<Block[]> {
  const [first, last] = toBytes([positions[0] as Position, positions.at(-1) as Position]);
  const { rows } = await sql<Row>`
    SELECT upper, postings FROM word_blocks
    WHERE upper >= ${first} AND upper <= coalesce(
      (SELECT upper FROM word_blocks WHERE upper >= ${last} ORDER BY upper LIMIT 1), ${LAST_UPPER})
    ORDER BY upper`.execute(db);
  return rows.map(blockOf);
}

/** Returns the blocks that contain these positions. Each iteration skips to the first position after the last block. */
async function readAt(db: Database, positions: readonly Position[]): Promise<Block[]> {
  const { rows } = await sql<Row>`
    WITH RECURSIVE wanted AS (SELECT ${toBytes(positions)}::bytea[] AS positions), found AS (
      (SELECT upper, postings FROM word_blocks
        WHERE upper >= (SELECT positions[1] FROM wanted) ORDER BY upper LIMIT 1)
      UNION ALL
      SELECT following.upper, following.postings FROM found, wanted, LATERAL (
        SELECT upper, postings FROM word_blocks
        WHERE upper >= wanted.positions[width_bucket(found.upper, wanted.positions) + 1]
        ORDER BY upper LIMIT 1) AS following
    ) SELECT upper, postings FROM found ORDER BY upper`.execute(db);
  return rows.map(blockOf);
}

interface Row {
  upper: Buffer;
  postings: Buffer;
}

function blockOf({ upper, postings }: Row): Block {
  return { upper: upper.toString('latin1'), postings };
}

interface BlockWrites {
  inserted: Block[];
  updated: Block[];
  deleted: Position[];
}

/**
 * Applies the next changes of the queue to blocks, and returns the rows to write.
 * @param blocks must cover the positions of the next changes, except those after the last block of the index
 * @param through the last position that `blocks` were read for
 */
function collectWrites(
  blocks: readonly Block[],
  queue: ChangeQueue,
  through: Position,
): BlockWrites {
  const writes: BlockWrites = { inserted: [], updated: [], deleted: [] };
  for (const { upper, postings } of blocks) {
    const changes = queue.dequeueThrough(upper);
    if (changes.length === 0) continue;
    const changed = splitIntoBlocks(upper, changePostings(postings, changes));
    if (changed.length === 0) writes.deleted.push(upper);
    for (const block of changed) {
      if (block.upper === upper) writes.updated.push(block);
      else writes.inserted.push(block);
    }
  }
  // The index has no further block, so all remaining changes are after its end.
  if ((blocks.at(-1)?.upper ?? '') < through) {
    const added = changePostings(Buffer.alloc(0), queue.dequeueThrough(LAST_POSITION));
    writes.inserted.push(...splitIntoBlocks(LAST_POSITION, added));
  }
  return writes;
}

/** Returns the postings of a block after changes. */
function changePostings(bytes: Buffer, changes: readonly ListChange[]): Postings[] {
  const changed: Postings[] = [];
  let next = 0;
  const addNewTerms = (before: Term) => {
    for (; next < changes.length && (changes[next] as ListChange).term < before; next += 1) {
      const { term, added } = changes[next] as ListChange;
      if (added.length > 0) changed.push(postingsOf(term, added));
    }
  };
  for (const postings of unpackPostings(bytes)) {
    const { term, size, packed } = postings;
    addNewTerms(term);
    const change = changes[next];
    if (change?.term !== term) {
      changed.push(postings);
      continue;
    }
    next += 1;
    const keys = changeKeys(packed, size, change.added, change.removed);
    if (keys.size > 0) changed.push({ term, ...keys });
  }
  addNewTerms(AFTER_ALL_TERMS);
  return changed;
}

async function writeBlocks(
  db: Database,
  { inserted, updated, deleted }: BlockWrites,
): Promise<void> {
  if (inserted.length > 0) {
    await sql`
      INSERT INTO word_blocks (upper, postings)
      SELECT upper, postings FROM ${unnestBlocks(inserted)}`.execute(db);
  }
  if (updated.length > 0) {
    await sql`
      UPDATE word_blocks SET postings = changed.postings
      FROM ${unnestBlocks(updated)} WHERE word_blocks.upper = changed.upper`.execute(db);
  }
  if (deleted.length > 0) {
    await sql`DELETE FROM word_blocks WHERE upper = ANY(${toBytes(deleted)}::bytea[])`.execute(db);
  }
}

function unnestBlocks(blocks: readonly Block[]): RawBuilder<unknown> {
  return sql`unnest(${toBytes(blocks.map(({ upper }) => upper))}::bytea[],
    ${blocks.map(({ postings }) => postings)}::bytea[]) AS changed (upper, postings)`;
}
