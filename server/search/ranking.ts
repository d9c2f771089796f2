import type { FoundKeys } from '../database/word-index.ts';
import type { Budget } from './budget.ts';
import type { Condition } from './condition.ts';
import { findKeys, type KeySearch } from './matching-keys.ts';
import { EXACT_TITLE_BONUS, MAX_KEY, TITLE_BONUS } from './order.ts';
import { readKeysByTitle } from './rows.ts';

/** How a space matches: its title equals the query, its title matches, or its title and description match. */
export type MatchKind = 'equal title' | 'title' | 'other';

/** A match according to the index. */
export interface Candidate {
  key: number;
  rank: number;
  kind: MatchKind;
}

interface Range {
  after: number;
  limit: number;
}

/** Keys of one kind of match, in ascending order, which is also the order of their ranks. */
interface Stream {
  kind: MatchKind;
  /** A key minus this is its rank. */
  bonus: number;
  /** Returns undefined if the budget is spent. */
  find(range: Range, mayOverdraw: boolean): Promise<FoundKeys | undefined>;
  /** Keys that have been read but not merged. */
  keys: number[];
  /** The last key that was searched; Infinity at the end. */
  reached: number;
}

/**
 * Merges the streams of all kinds of matches by rank. A space can be in several streams: the first one has the lowest
 * rank. If ranks are equal, the first stream comes first.
 */
export class Ranking {
  readonly #streams: Stream[];
  readonly #after: number;
  readonly #mustVerify: boolean;

  /** @param after the rank after which the candidates begin */
  constructor(search: KeySearch, condition: Condition, after: number, budget: Budget) {
    const { titleKeys, nameKeys, matcher } = condition;
    const { pattern, mustVerify } = matcher;
    // A page that continues among the title matches has not read the first of them, so the index excludes them. It can
    // exclude only what it matches exactly. Otherwise, each title match precedes the other match of the same space.
    const otherScope = after < -TITLE_BONUS || mustVerify ? 'all' : 'other';
    const byTitle = (keys: readonly string[]) => (range: Range) =>
      findEqualTitles(search, keys, range);
    const byWords =
      (scope: 'title' | 'all' | 'other'): Stream['find'] =>
      (range, mayOverdraw) =>
        findKeys(search, { pattern, scope }, range, budget, mayOverdraw);
    const open = (kind: MatchKind, bonus: number, find: Stream['find']): Stream => {
      const reached = after + bonus > MAX_KEY ? Infinity : Math.max(-1, after + bonus);
      return { kind, bonus, find, keys: [], reached };
    };
    this.#streams = [
      open('equal title', EXACT_TITLE_BONUS, byTitle(titleKeys)),
      open('equal title', TITLE_BONUS, byTitle(nameKeys)),
      open('title', TITLE_BONUS, byWords('title')),
      open('other', 0, byWords(otherScope)),
    ];
    this.#after = after;
    this.#mustVerify = mustVerify;
  }

  /** The rank up to which all streams have been searched; Infinity at the end. */
  get reached(): number {
    return Math.min(...this.#streams.map(rankReached));
  }

  /**
   * Returns the next candidates: at least one and at most `wanted + spare`, or an empty list at the end.
   * @param spare how many more to read, in case that some are rejected
   * @returns undefined if the budget is spent
   */
  async next(wanted: number, spare: number): Promise<Candidate[] | undefined> {
    for (;;) {
      const candidates = this.#take(wanted + spare);
      if (candidates.length > 0 || this.reached === Infinity) return candidates;
      const isRead = await this.#read(wanted * (this.#mustVerify ? 2 : 1) + spare);
      if (!isRead) return undefined;
    }
  }

  /** Removes and returns up to `limit` keys that have been read, as far as all streams have been searched. */
  #take(limit: number): Candidate[] {
    const taken: Candidate[] = [];
    const maxRank = this.reached;
    while (taken.length < limit) {
      const stream = minBy(this.#streams, firstRank);
      const rank = firstRank(stream);
      const [key] = stream.keys;
      if (key === undefined || rank > maxRank) break;
      stream.keys.shift();
      taken.push({ key, rank, kind: stream.kind });
    }
    return taken;
  }

  /** Reads the next keys of the stream that lags behind. Returns false if the budget is spent. */
  async #read(limit: number): Promise<boolean> {
    const stream = minBy(this.#streams, rankReached);
    // Title matches that are not yet merged are among the other matches, too.
    const pending = this.#streams.reduce((sum, { keys }) => sum + keys.length, 0);
    // A page that ends where it began would link to itself.
    const mayOverdraw = this.reached === this.#after;
    const found = await stream.find({ after: stream.reached, limit: limit + pending }, mayOverdraw);
    if (!found) return false;
    stream.keys.push(...found.keys);
    stream.reached = found.reached;
    return true;
  }
}

async function findEqualTitles(
  { db }: KeySearch,
  titleKeys: readonly string[],
  { after, limit }: Range,
): Promise<FoundKeys> {
  const found = await Promise.all(titleKeys.map((key) => readKeysByTitle(db, key, after, limit)));
  const keys = found
    .flat()
    .sort((a, b) => a - b)
    .slice(0, limit);
  return { keys, reached: keys.length < limit ? Infinity : (keys.at(-1) as number) };
}

function minBy(streams: readonly Stream[], rankOf: (stream: Stream) => number): Stream {
  return streams.reduce((min, each) => (rankOf(each) < rankOf(min) ? each : min));
}

function rankReached({ reached, bonus }: Stream): number {
  return reached - bonus;
}

/** Infinity if no key has been read. */
function firstRank({ keys: [key], bonus }: Stream): number {
  return key === undefined ? Infinity : key - bonus;
}
