import type { WordQuery, WordReader, WordScope } from '../database/word-index.ts';
import { KEYS_PER_STEP, spacePkOf } from './keys.ts';
import type { Matcher } from './matcher.ts';
import { findKeys, type KeySearch } from './matching-keys.ts';

/** A title match ranks six popularity steps higher, like a space with about eight times as many participants. */
const TITLE_BONUS = 6 * KEYS_PER_STEP;

/** One of the two sorted sequences of keys that are merged: title matches, or other matches. */
interface Stream {
  query: WordQuery;
  /** Added to a key to get its rank. */
  offset: number;
  /** Keys that have been read but not merged. */
  keys: number[];
  /** The last key that was searched; Infinity at the end. */
  reached: number;
}

/** A match according to the word index. */
export interface Candidate {
  key: number;
  rank: number;
  /** `title` for a title match. */
  scope: WordScope;
}

/**
 * The keys of matching documents in the order of their ranks. The rank of a match is its key, and that of a title match
 * its key minus a bonus.
 */
export class RankedKeys {
  readonly #search: KeySearch;
  readonly #titles: Stream;
  readonly #others: Stream;
  readonly #reader: WordReader;
  /**
   * If both streams are read from their start, the `space_pk` of all title matches that have been read. `take` leaves
   * them out of the others. When it reaches another match, the title match of the same space has already been read,
   * because title matches rank higher. This costs less than excluding a pattern in the index. A page that continues a
   * section must exclude the pattern, because it has not read the first title matches. Not a set of keys, because a
   * space can move meanwhile. Undefined if a section is continued, and if matches are verified.
   */
  readonly #titleSpaces: Set<number> | undefined;

  /** @param after only keys with a greater rank */
  constructor(search: KeySearch, { pattern, mustVerify }: Matcher, after: number) {
    this.#search = search;
    this.#titles = openStream({ pattern, scope: 'title' }, -TITLE_BONUS, after);
    const isFromStart = after === -Infinity;
    if (isFromStart && !mustVerify) this.#titleSpaces = new Set();
    // The index can exclude only what it matches exactly.
    const except: WordQuery['except'] =
      isFromStart || mustVerify ? [] : [{ pattern, scope: 'title' }];
    this.#others = openStream({ pattern, scope: 'all', except }, 0, after);
    this.#reader = search.resources.engine.wordIndex.openReader(
      search.db,
      this.#streams.map(({ query, reached }) => ({ query, after: reached })),
    );
  }

  get #streams(): [Stream, Stream] {
    return [this.#titles, this.#others];
  }

  /** The rank up to which both streams have been searched; Infinity at the end. */
  get reached(): number {
    return Math.min(...this.#streams.map(rankReached));
  }

  /** Removes and returns up to `limit` keys that `readMore` has read, as far as both streams have been searched. */
  take(limit: number): Candidate[] {
    const taken: Candidate[] = [];
    const maxRank = this.reached;
    while (taken.length < limit) {
      let next: Stream | undefined;
      for (const stream of this.#streams) {
        if (stream.keys.length === 0) continue;
        if (!next || firstRank(stream) < firstRank(next)) next = stream;
      }
      if (!next || firstRank(next) > maxRank) break;
      const rank = firstRank(next);
      const key = next.keys.shift() as number;
      if (next === this.#others && this.#titleSpaces?.has(spacePkOf(key))) continue;
      taken.push({ key, rank, scope: next.query.scope });
    }
    return taken;
  }

  /**
   * Reads the next keys of the stream that lags behind.
   * @param mayOverdraw whether to read even if it costs more than the budget
   * @returns false if the budget is spent
   */
  async readMore(limit: number, mayOverdraw: boolean): Promise<boolean> {
    const stream =
      rankReached(this.#others) < rankReached(this.#titles) ? this.#others : this.#titles;
    const omitted = stream === this.#others ? (this.#titleSpaces?.size ?? 0) : 0;
    const range = { after: stream.reached, limit: limit + omitted };
    const found = await findKeys(this.#search, this.#reader, stream.query, range, mayOverdraw);
    if (!found) return false;
    stream.keys.push(...found.keys);
    stream.reached = found.reached;
    if (stream === this.#titles) {
      for (const key of found.keys) this.#titleSpaces?.add(spacePkOf(key));
    }
    return true;
  }
}

function openStream(query: WordQuery, offset: number, after: number): Stream {
  return {
    query,
    offset,
    keys: [],
    reached: Math.max(-1, after - offset),
  };
}

function rankReached({ reached, offset }: Stream): number {
  return reached + offset;
}

function firstRank({ keys, offset }: Stream): number {
  return (keys[0] as number) + offset;
}
