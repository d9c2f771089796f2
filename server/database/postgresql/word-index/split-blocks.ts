import { unpackKeys } from './packed-keys.ts';
import { type Position, positionOf } from './positions.ts';
import { type Postings, packedLength, packPostings, postingsOf } from './postings.ts';

/** A row of `word_blocks`: the postings after the previous block's `upper`, up to and including its own `upper`. */
export interface Block {
  upper: Position;
  postings: Buffer;
}

/** Larger blocks are split. Six rows of this size and one changed version fit into a page. */
const MAX_BLOCK_BYTES = 1_100;

/** When a block is split, longer lists are divided between the parts. */
const MAX_UNDIVIDED_BYTES = 200;

/**
 * Divides postings into blocks of about equal size. The last block ends at `upper`. Returns no blocks for no postings.
 */
export function splitIntoBlocks(upper: Position, postings: readonly Postings[]): Block[] {
  if (postings.length === 0) return [];
  const bytes = postings.reduce((sum, each) => sum + packedLength(each), 0);
  const builder = new BlockBuilder(bytes / Math.ceil(bytes / MAX_BLOCK_BYTES));
  for (const each of postings) {
    if (packedLength(each) <= builder.freeBytes) builder.add(each);
    else if (each.packed.length > MAX_UNDIVIDED_BYTES) builder.addDivided(each);
    else {
      builder.endBlock();
      builder.add(each);
    }
  }
  return builder.endBlockAt(upper);
}

/** Collects postings into blocks of a target size. */
class BlockBuilder {
  readonly #targetBytes: number;
  readonly #blocks: Block[] = [];
  /** The postings of the current block. */
  #postings: Postings[] = [];
  #freeBytes: number;

  constructor(targetBytes: number) {
    this.#targetBytes = targetBytes;
    this.#freeBytes = targetBytes;
  }

  /** Number of bytes until the current block reaches the target size. */
  get freeBytes(): number {
    return this.#freeBytes;
  }

  add(postings: Postings): void {
    this.#postings.push(postings);
    this.#freeBytes -= packedLength(postings);
  }

  /** Divides a list between the current block and the following ones. */
  addDivided({ term, size, packed }: Postings): void {
    const bytesPerKey = packedLength({ term, size, packed }) / size;
    const keys = unpackKeys(packed);
    for (let begin = 0; begin < size; ) {
      const end = begin + Math.max(1, Math.floor(this.#freeBytes / bytesPerKey));
      this.add(postingsOf(term, keys.slice(begin, end)));
      if (end < size) this.endBlock();
      begin = end;
    }
  }

  /** Ends the current block at its last posting. Does nothing if it is empty. */
  endBlock(): void {
    const last = this.#postings.at(-1);
    if (last) this.endBlockAt(positionOf(last.term, unpackKeys(last.packed).at(-1) as number));
  }

  /** Ends the current block at `upper`, unless it is empty. Returns all blocks so far. */
  endBlockAt(upper: Position): Block[] {
    if (this.#postings.length > 0) {
      this.#blocks.push({ upper, postings: packPostings(this.#postings) });
    }
    this.#postings = [];
    this.#freeBytes = this.#targetBytes;
    return this.#blocks;
  }
}
