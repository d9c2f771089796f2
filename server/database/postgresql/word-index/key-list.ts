import type { KeyBlock } from './read-blocks.ts';
import type { Term } from './terms.ts';

/** 41 popularity steps of 2³² keys each, see `search/keys.ts`. Used only for estimates. */
const END_OF_KEYS = 41 * 2 ** 32;

/** A range of keys that was read, and the list's keys in this range. */
interface Section {
  from: number;
  /** Inclusive; Infinity at the end of the list. */
  through: number;
  keys: readonly number[];
}

/** The posting list of a term, as far as a search has read it. */
export class KeyList {
  readonly term: Term;
  /** Ordered by `through`. They may overlap or contain each other, because blocks can change between two reads. */
  readonly #sections: Section[] = [];
  #density = 0;

  constructor(term: Term) {
    this.term = term;
  }

  /** Adds the next blocks, starting at a key. If there are fewer blocks than requested, the list ends. */
  addNextBlocks(from: number, blocks: readonly KeyBlock[], requested: number): void {
    let begin = from;
    let count = 0;
    for (const { upper, keys } of blocks) {
      this.#add({ from: begin, through: upper, keys });
      begin = upper + 1;
      count += keys.length;
    }
    if (blocks.length < requested && begin !== Infinity) {
      this.#add({ from: begin, through: Infinity, keys: [] });
      begin = Infinity;
    }
    // At least one key, because a search can begin after all keys.
    this.#density = count / Math.max(1, Math.min(begin, END_OF_KEYS) - from);
  }

  /**
   * Adds the blocks that can contain one of `keys`. Other blocks can lie between them, so the section of a block begins
   * at the first of `keys` that it can contain.
   */
  addBlocksOf(keys: readonly number[], blocks: readonly KeyBlock[]): void {
    let next = 0;
    for (const block of blocks) {
      if (next === keys.length) return;
      this.#add({ from: keys[next] as number, through: block.upper, keys: block.keys });
      while (next < keys.length && (keys[next] as number) <= block.upper) next += 1;
    }
    if (next < keys.length) this.#add({ from: keys[next] as number, through: Infinity, keys: [] });
  }

  /** Adds the keys of the last block with the term. */
  addLastBlock(keys: readonly number[]): void {
    if (keys.length > 0) this.#add({ from: keys[0] as number, through: Infinity, keys });
  }

  #add(section: Section): void {
    const at = this.#indexAt(section.through);
    const other = this.#sections[at];
    if (other?.through !== section.through) this.#sections.splice(at, 0, section);
    else if (section.from < other.from) this.#sections[at] = section;
  }

  /** Fraction of all possible keys that the list contains, in the range that `addNextBlocks` added last. */
  get density(): number {
    return this.#density;
  }

  /** Returns the first unread key at or after `from`. */
  firstUnread(from: number): number {
    let unread = from;
    for (let section = this.#sectionOf(unread); section; section = this.#sectionOf(unread)) {
      unread = section.through + 1;
      if (unread === Infinity) break;
    }
    return unread;
  }

  /**
   * Returns the index of the first unread key; -1 if all were read.
   * @param keys in ascending order
   */
  firstUnreadIndex(keys: readonly number[]): number {
    let section: Section | undefined;
    return keys.findIndex((key) => {
      if (!section || section.through < key) section = this.#sectionOf(key);
      return section === undefined;
    });
  }

  /**
   * Returns those of `keys` that the list contains.
   * @param keys in ascending order
   * @throws Error if one of them was not read
   */
  intersect(keys: readonly number[]): number[] {
    const found: number[] = [];
    let section: Section | undefined;
    let next = 0;
    for (const key of keys) {
      if (!section || section.through < key) {
        section = this.#sectionOf(key);
        if (!section) throw new Error('This part of the list was not read.');
        next = 0;
      }
      next = firstFrom(section.keys, key, next);
      if (section.keys[next] === key) found.push(key);
    }
    return found;
  }

  /**
   * Returns the first keys of a range, in ascending order.
   * @param before end of the range, exclusive
   * @throws Error if a part of the range was not read
   */
  keysBetween(from: number, before: number, limit: number): number[] {
    const found: number[] = [];
    let next = from;
    while (next < before) {
      const section = this.#sectionOf(next);
      if (!section) throw new Error('This part of the list was not read.');
      const { keys, through } = section;
      for (let i = firstFrom(keys, next); i < keys.length; i += 1) {
        const key = keys[i] as number;
        if (key >= before || found.length === limit) return found;
        found.push(key);
      }
      next = through + 1;
    }
    return found;
  }

  /** Returns the index of the first section that ends at `key` or later. */
  #indexAt(key: number): number {
    let low = 0;
    let high = this.#sections.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#sections[middle] as Section).through < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #sectionOf(key: number): Section | undefined {
    for (let at = this.#indexAt(key); at < this.#sections.length; at += 1) {
      const section = this.#sections[at] as Section;
      if (section.from <= key) return section;
    }
    return undefined;
  }
}

/**
 * Returns the index of the first key that is at least `wanted`. All keys before `start` must be less. Exponential
 * search, which is fast if the result is near `start`.
 */
function firstFrom(keys: readonly number[], wanted: number, start = 0): number {
  let low = start;
  let high = start;
  for (let step = 1; high < keys.length && (keys[high] as number) < wanted; step *= 2) {
    low = high + 1;
    high += step;
  }
  high = Math.min(high, keys.length);
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((keys[middle] as number) < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}
