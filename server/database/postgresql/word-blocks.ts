import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { CompiledQuery, type RawBuilder, sql } from 'kysely';
import type { Database } from '../engine.ts';
import { unpackKeys } from './packed-keys.ts';
import {
  keysOfTerm,
  type Postings,
  packedLength,
  packPostings,
  postingsOf,
  unpackPostings,
} from './word-postings.ts';
import { AFTER_ALL_TERMS, FIRST_WORD, type MarkedWord, type Term } from './word-terms.ts';

// A posting is a term and the key of a document with it. The index has all postings in the order of their terms and
// keys, divided into blocks of about the same number of bytes. So a block has a part of the list of a frequent term, or
// the whole lists of many rare ones.

/**
 * The place of a posting in the index: the bytes of its term, a zero byte and six bytes of its key. They sort like
 * postings, because no term contains a byte below FIRST_BYTE_OF_TERMS.
 */
type Position = string;

/** A row of `word_blocks`: the postings after the `upper` of the previous block, up to and including its own. */
interface Block {
  upper: Position;
  postings: Buffer;
}

/** Terms contain no control characters. */
const FIRST_BYTE_OF_TERMS = '\x20';

const KEY_BYTES = 6;

/** A larger block is split. Small enough for six rows and a changed one to fit into a page. */
const MAX_BLOCK_BYTES = 1_100;

/** When a block is split, lists longer than this are divided, too. */
const MAX_UNDIVIDED_BYTES = 200;

/** `upper` of the last block, so that it does not change when greater postings are added. */
const LAST_POSITION = positionOf(AFTER_ALL_TERMS, 2 ** (8 * KEY_BYTES) - 1);
const LAST_UPPER = Buffer.from(LAST_POSITION, 'latin1');

function positionOf(term: Term, key: number): Position {
  const bytes = Buffer.alloc(KEY_BYTES);
  bytes.writeUIntBE(key, 0, KEY_BYTES);
  return `${term}\0${bytes.toString('latin1')}`;
}

function termAt(position: Position): Term {
  return position.slice(0, -KEY_BYTES - 1);
}

function keyAt(position: Position): number {
  return Buffer.from(position, 'latin1').readUIntBE(position.length - KEY_BYTES, KEY_BYTES);
}

/** A position after all postings of a term. */
function endOf(term: Term): Position {
  return term + FIRST_BYTE_OF_TERMS;
}

function toBytes(positions: readonly Position[]): Buffer[] {
  return positions.map((position) => Buffer.from(position, 'latin1'));
}

/** The keys of a term in one block. */
export interface KeyBlock {
  /** The keys are those up to this one. Infinity in the last block with the term. */
  upper: number;
  keys: number[];
}

/** The next keys of a posting list. */
export interface ListRequest {
  term: Term;
  /** Skips smaller keys. */
  from: number;
}

/** The words of a prefix that one block contains. */
export interface PrefixBlock {
  /** The last posting that the block can contain. */
  upperTerm: Term;
  upperKey: number;
  /** Only those of words with the prefix. */
  postings: Postings[];
}

/** Bounds the cost of a prefix for which someone has made up many words. About seventy rare words fit into a block. */
const MAX_BLOCKS_OF_PREFIX = 1_000;

/** A document that has changed since the last merge. It can be in the blocks with other words. */
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

// Plain text, because these statements run in every search, and compiling them would take longer than running them.
//
// The parameters are in subqueries, so that the planner cannot estimate the number of elements. Otherwise, it would
// plan every execution again.

const LAST_UPPER_SQL = `'\\x${LAST_UPPER.toString('hex')}'::bytea`;
const FIRST_BYTE_SQL = `'\\x${Buffer.from(FIRST_BYTE_OF_TERMS).toString('hex')}'::bytea`;

const positionSql = (term: string, key: string) =>
  `(${term} || '\\x00'::bytea || substring(int8send(${key}) FROM ${8 - KEY_BYTES + 1}))`;
const termSql = (position: string) =>
  `substring(${position} FROM 1 FOR length(${position}) - ${KEY_BYTES + 1})`;
const keySql = (position: string) =>
  `('x' || encode(substring(${position} FROM length(${position}) - ${KEY_BYTES - 1}), 'hex'))::bit(${8 * KEY_BYTES})::bigint`;

/** The next blocks of lists. The end of a list can be in the first block after its last position. */
const nextBlocksSql = (count: number) => `
  SELECT lists.number::int - 1 AS list, block.upper, block.postings
  FROM unnest((SELECT $1::bytea[]), (SELECT $2::bytea[])) WITH ORDINALITY
    AS lists (begin, "end", number), LATERAL (
    SELECT upper, postings FROM word_blocks
    WHERE upper >= lists.begin AND upper <= coalesce(
      (SELECT upper FROM word_blocks WHERE upper >= lists."end" ORDER BY upper LIMIT 1),
      ${LAST_UPPER_SQL})
    ORDER BY upper LIMIT ${count}) AS block`;

/** The blocks of `PrefixBlock`. Each iteration skips the other blocks of the last word of a block. */
const PREFIX_BLOCKS_SQL = `
  SELECT prefixes.number::int - 1 AS list, block.upper, block.postings
  FROM unnest((SELECT $3::bytea[]), (SELECT $4::bytea[])) WITH ORDINALITY
    AS prefixes (begin, "end", number), LATERAL (
    WITH RECURSIVE found AS (
      (SELECT upper, postings FROM word_blocks WHERE upper >= prefixes.begin ORDER BY upper LIMIT 1)
      UNION ALL
      SELECT following.upper, following.postings FROM found, LATERAL (
        SELECT upper, postings FROM word_blocks
        WHERE found.upper < prefixes."end" AND upper >= ${termSql('found.upper')} || ${FIRST_BYTE_SQL}
        ORDER BY upper LIMIT 1) AS following
    ) SELECT * FROM found LIMIT ${MAX_BLOCKS_OF_PREFIX}) AS block`;

const firstBlocksSql = (count: number) => `
  SELECT 'list' AS kind, list, upper, postings, NULL::bigint AS key, NULL::text AS words
  FROM (${nextBlocksSql(count)}) AS lists
  UNION ALL
  SELECT 'prefix', list, upper, postings, NULL, NULL FROM (${PREFIX_BLOCKS_SQL}) AS prefixes
  UNION ALL
  SELECT 'change', NULL, NULL, NULL, key, added FROM word_changes
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
  key: number;
  words: string | null;
}

/**
 * Reads the beginnings of posting lists, and the words that begin with prefixes, in one statement. It also reads the
 * changes that are not in the blocks yet, so that each change is either in them or in the blocks.
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
    prefixes: prefixBlocks(prefixes, ofKind('prefix')),
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
  const rows = await readRows<BlockRow>(db, BLOCKS_OF_KEYS_SQL, [toBytes(terms), keys]);
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
function groupRows(rows: readonly BlockRow[], lists: number): BlockRow[][] {
  const groups: BlockRow[][] = Array.from({ length: lists }, () => []);
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

function prefixBlocks(prefixes: readonly Term[], rows: readonly BlockRow[]): PrefixBlock[][] {
  return groupRows(rows, prefixes.length).map((blocks, i) => {
    const prefix = prefixes[i] as Term;
    return blocks.map(({ upper, postings }) => {
      const position = upper.toString('latin1');
      return {
        upperTerm: termAt(position),
        upperKey: keyAt(position),
        postings: [...unpackPostings(postings)].filter(({ term }) => term.startsWith(prefix)),
      };
    });
  });
}

/** Keys to add to and to remove from the list of a term, both in ascending order. */
export interface Change {
  term: Term;
  added: readonly number[];
  removed: readonly number[];
}

/** Number of postings per statement if few blocks change. */
const POSITIONS_PER_STATEMENT = 500;

/** Number of postings per statement if most blocks change. */
const POSTINGS_PER_STATEMENT = 20_000;

/** About the size of a block with its row, and of its page's free space. */
const BYTES_PER_BLOCK = 1_200;

/**
 * Adds keys to posting lists and removes keys from them. Reads either all blocks between those that change, if most
 * change, or only those that change.
 * @param changes in the order of their terms
 */
export async function changeLists(
  db: Database,
  changes: readonly Change[],
  isDense?: boolean,
): Promise<void> {
  const queue = new ChangeQueue(changes);
  const readsAll = isDense ?? queue.size > (2 * (await readSize(db))) / BYTES_PER_BLOCK;
  let writes: BlockWrites = { inserted: [], updated: [], deleted: [] };
  while (!queue.isEmpty) {
    const isFirst = writes.inserted.length + writes.updated.length + writes.deleted.length === 0;
    const computeWrites = async () => {
      const positions = readsAll
        ? queue.nextRange(POSTINGS_PER_STATEMENT)
        : queue.next(POSITIONS_PER_STATEMENT);
      const blocks = await (readsAll ? readRange : readAt)(db, positions);
      // Lets the connection send the previous writes, so that PostgreSQL runs them while this process computes.
      if (!isFirst) await yieldToEventLoop();
      return collectWrites(blocks, queue, positions.at(-1) as Position);
    };
    [writes] = await Promise.all([computeWrites(), writeBlocks(db, writes)]);
  }
  await writeBlocks(db, writes);
}

async function readSize(db: Database): Promise<number> {
  const { rows } = await sql<{ bytes: number }>`
    SELECT pg_relation_size('word_blocks') AS bytes`.execute(db);
  return rows[0]?.bytes as number;
}

/** Returns all blocks between the first and the last of these positions. */
async function readRange(db: Database, positions: readonly Position[]): Promise<Block[]> {
  const [first, last] = toBytes([positions[0] as Position, positions.at(-1) as Position]);
  const { rows } = await sql<BlockRow>`
    SELECT upper, postings FROM word_blocks
    WHERE upper >= ${first} AND upper <= coalesce(
      (SELECT upper FROM word_blocks WHERE upper >= ${last} ORDER BY upper LIMIT 1), ${LAST_UPPER})
    ORDER BY upper`.execute(db);
  return rows.map(blockOf);
}

/** Returns the blocks that contain these positions. Each iteration skips to the first one after the previous block. */
async function readAt(db: Database, positions: readonly Position[]): Promise<Block[]> {
  const { rows } = await sql<BlockRow>`
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

function blockOf({ upper, postings }: BlockRow): Block {
  return { upper: upper.toString('latin1'), postings };
}

/** Changes in the order of their positions. */
class ChangeQueue {
  /** In descending order of their terms. */
  readonly #rest: Change[];
  /** Number of postings to add or remove. */
  readonly size: number;

  constructor(changes: readonly Change[]) {
    this.#rest = changes.toReversed();
    this.size = changes.reduce((sum, { added, removed }) => sum + added.length + removed.length, 0);
  }

  get isEmpty(): boolean {
    return this.#rest.length === 0;
  }

  /** Returns the positions of the next changes: about `count`, or more, because a term is not divided. */
  next(count: number): Position[] {
    const positions: Position[] = [];
    for (let i = this.#rest.length - 1; i >= 0 && positions.length < count; i -= 1) {
      const { term, added, removed } = this.#rest[i] as Change;
      for (const key of mergeKeys(added, removed)) positions.push(positionOf(term, key));
    }
    return positions;
  }

  /** Returns the positions of the first and the last of the next changes. */
  nextRange(count: number): [first: Position, last: Position] {
    let rest = count;
    let i = this.#rest.length;
    while (i > 0 && rest > 0) {
      i -= 1;
      const { added, removed } = this.#rest[i] as Change;
      rest -= added.length + removed.length;
    }
    const [first, last] = [this.#rest.at(-1) as Change, this.#rest[i] as Change];
    return [
      positionOf(first.term, Math.min(first.added[0] ?? Infinity, first.removed[0] ?? Infinity)),
      positionOf(last.term, Math.max(last.added.at(-1) ?? 0, last.removed.at(-1) ?? 0)),
    ];
  }

  /** Removes and returns the changes up to a position. */
  take(upper: Position): Change[] {
    const [upperTerm, upperKey] = [termAt(upper), keyAt(upper)];
    const taken: Change[] = [];
    while (true) {
      const change = this.#rest.at(-1);
      if (!change || change.term > upperTerm) return taken;
      this.#rest.pop();
      if (change.term < upperTerm) {
        taken.push(change);
        continue;
      }
      const [before, after] = divide(change, upperKey);
      if (before) taken.push(before);
      if (after) this.#rest.push(after);
      return taken;
    }
  }
}

/** Divides a change into its keys up to `upper` and those after it. */
function divide(
  { term, added, removed }: Change,
  upper: number,
): [before: Change | undefined, after: Change | undefined] {
  const part = (isWanted: (key: number) => boolean) => {
    const change = { term, added: added.filter(isWanted), removed: removed.filter(isWanted) };
    return change.added.length + change.removed.length > 0 ? change : undefined;
  };
  return [part((key) => key <= upper), part((key) => key > upper)];
}

interface BlockWrites {
  inserted: Block[];
  updated: Block[];
  deleted: Position[];
}

/**
 * Applies the next changes.
 * @param blocks those that contain the next changes; the last changes can be after all blocks
 * @param through the last position that was looked up
 */
function collectWrites(
  blocks: readonly Block[],
  queue: ChangeQueue,
  through: Position,
): BlockWrites {
  const writes: BlockWrites = { inserted: [], updated: [], deleted: [] };
  for (const { upper, postings } of blocks) {
    const changes = queue.take(upper);
    if (changes.length === 0) continue;
    const changed = split(upper, changePostings(postings, changes));
    if (changed.length === 0) writes.deleted.push(upper);
    for (const block of changed) {
      const target = block.upper === upper ? writes.updated : writes.inserted;
      target.push(block);
    }
  }
  if ((blocks.at(-1)?.upper ?? '') < through) {
    const added = changePostings(Buffer.alloc(0), queue.take(LAST_POSITION));
    writes.inserted.push(...split(LAST_POSITION, added));
  }
  return writes;
}

/** Returns the postings of a block after changes. */
function changePostings(bytes: Buffer, changes: readonly Change[]): Postings[] {
  const changed: Postings[] = [];
  let next = 0;
  const addNewTerms = (before: Term) => {
    for (; next < changes.length && (changes[next] as Change).term < before; next += 1) {
      const { term, added } = changes[next] as Change;
      if (added.length > 0) changed.push(postingsOf(term, added));
    }
  };
  for (const postings of unpackPostings(bytes)) {
    const { term, packed } = postings;
    addNewTerms(term);
    const change = changes[next];
    if (change?.term !== term) {
      changed.push(postings);
      continue;
    }
    next += 1;
    const removed = new Set(change.removed);
    const kept = unpackKeys(packed).filter((key) => !removed.has(key));
    const keys = mergeKeys(kept, change.added);
    if (keys.length > 0) changed.push(postingsOf(term, keys));
  }
  addNewTerms(AFTER_ALL_TERMS);
  return changed;
}

/** Returns the keys of both lists in ascending order, each once. */
function mergeKeys(a: readonly number[], b: readonly number[]): readonly number[] {
  if (a.length === 0) return b;
  if (b.length === 0) return a;
  const merged: number[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    const [x, y] = [a[i] ?? Infinity, b[j] ?? Infinity];
    merged.push(Math.min(x, y));
    if (x <= y) i += 1;
    if (y <= x) j += 1;
  }
  return merged;
}

/** Divides postings into blocks of about equal size. The last one has `upper`. */
function split(upper: Position, postings: readonly Postings[]): Block[] {
  const bytes = postings.reduce((sum, each) => sum + packedLength(each), 0);
  const target = bytes / Math.ceil(bytes / MAX_BLOCK_BYTES);
  const blocks: Block[] = [];
  let part: Postings[] = [];
  let room = target;
  const add = (each: Postings) => {
    part.push(each);
    room -= packedLength(each);
  };
  const endBlock = (term: Term, key: number) => {
    blocks.push({ upper: positionOf(term, key), postings: packPostings(part) });
    part = [];
    room = target;
  };
  for (const each of postings) {
    const { term, size, packed } = each;
    if (packedLength(each) <= room) {
      add(each);
      continue;
    }
    if (packed.length <= MAX_UNDIVIDED_BYTES) {
      const last = part.at(-1);
      if (last) endBlock(last.term, unpackKeys(last.packed).at(-1) as number);
      add(each);
      continue;
    }
    const keys = unpackKeys(packed);
    for (let begin = 0; begin < size; ) {
      const fitting = Math.max(1, Math.floor((room / packedLength(each)) * size));
      const end = Math.min(size, begin + fitting);
      add(postingsOf(term, keys.slice(begin, end)));
      if (end < size) endBlock(term, keys[end - 1] as number);
      begin = end;
    }
  }
  if (part.length > 0) blocks.push({ upper, postings: packPostings(part) });
  return blocks;
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

const BLOCKS_PER_FETCH = 1_000;

/** Returns each word of scope `all` with its number of documents, in the order of their terms. */
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
