import { type Block, LAST_UPPER } from './word-blocks.ts';

/** 41 popularity steps of 2³² keys each, see `documentKey`. Only estimates depend on it. */
const END_OF_KEYS = 41 * 2 ** 32;

/** A range of keys that was read, and the keys of the list in it. */
interface Section {
  from: number;
  /** Inclusive; Infinity at the end of the list. */
  through: number;
  keys: number[];
}

/** The posting list of a term, as far as a search has read it. */
export class KeyList {
  readonly term: string;
  /** Ordered by `from`. They may overlap. */
  #sections: Section[] = [];
  #density = 0;

  constructor(term: string) {
    this.term = term;
  }

  /** Adds the blocks that `readNextBlocks` returned. Fewer blocks than requested mean that the list ends. */
  addNextBlocks(from: number, blocks: readonly Block[], requested: number): void {
    let begin = from;
    for (const { upper, keys } of blocks) {
      const through = upper === LAST_UPPER ? Infinity : upper;
      this.#add({ from: begin, through, keys });
      begin = through + 1;
    }
    if (blocks.length < requested && begin !== Infinity) {
      this.#add({ from: begin, through: Infinity, keys: [] });
      begin = Infinity;
    }
    const keys = blocks.reduce((sum, block) => sum + block.keys.length, 0);
    this.#density = keys / (Math.min(begin, END_OF_KEYS) - from);
  }

  /**
   * Adds the blocks that `readBlocksOfKeys` returned for `keys`. Other blocks can lie between them, so the section of a
   * block begins at the first of `keys` that it can contain.
   */
  addBlocksOf(keys: readonly number[], blocks: readonly Block[]): void {
    let next = 0;
    for (const block of blocks) {
      const through = block.upper === LAST_UPPER ? Infinity : block.upper;
      this.#add({ from: keys[next] as number, through, keys: block.keys });
      while (next < keys.length && (keys[next] as number) <= through) next += 1;
    }
    if (next < keys.length) this.#add({ from: keys[next] as number, through: Infinity, keys: [] });
  }

  #add(section: Section): void {
    let at = this.#sections.length;
    while (at > 0 && (this.#sections[at - 1] as Section).from > section.from) at -= 1;
    this.#sections.splice(at, 0, section);
  }

  /** Share of the possible keys that the list contains, in the part that `addNextBlocks` added last. */
  get density(): number {
    return this.#density;
  }

  /** Drops sections that end before `position`. */
  dropBefore(position: number): void {
    this.#sections = this.#sections.filter(({ through }) => through >= position);
  }

  /** Returns the first key from `position` on that was not read yet. */
  firstUnread(position: number): number {
    let unread = position;
    for (const { from, through } of this.#sections) {
      if (from > unread) break;
      unread = Math.max(unread, through + 1);
    }
    return unread;
  }

  hasRead(key: number): boolean {
    return this.#sectionOf(key) !== undefined;
  }

  /** @throws Error if the key was not read */
  has(key: number): boolean {
    const section = this.#sectionOf(key);
    if (!section) throw new Error('This part of the list was not read.');
    return contains(section.keys, key);
  }

  /** Returns the keys of the range in ascending order. All of it must have been read. */
  keysBetween(from: number, before: number): number[] {
    const found: number[] = [];
    let next = from;
    for (const { keys } of this.#sections) {
      for (const key of keys) {
        if (key < next || key >= before) continue;
        found.push(key);
        next = key + 1;
      }
    }
    return found;
  }

  #sectionOf(key: number): Section | undefined {
    return this.#sections.find(({ from, through }) => from <= key && key <= through);
  }
}

function contains(keys: readonly number[], key: number): boolean {
  let low = 0;
  let high = keys.length - 1;
  while (low <= high) {
    const middle = (low + high) >>> 1;
    const value = keys[middle] as number;
    if (value === key) return true;
    if (value < key) low = middle + 1;
    else high = middle - 1;
  }
  return false;
}
