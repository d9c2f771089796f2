import type { SearchResult } from '../../generated/types.gen.ts';
import type { IsChanged } from '../database/engine.ts';
import type { FoundKeys } from '../database/word-index.ts';
import { nextTurn } from '../system/event-loop.ts';
import { SplitText } from '../text/words/query.ts';
import { titleKey } from '../text/words/tokenize.ts';
import { type Budget, rejectRow, skipMissingRow } from './budget.ts';
import { type Interpretation, type Matcher, matcherOf, titleKeysOf } from './interpretation.ts';
import { findKeys, type KeySearch } from './matching-keys.ts';
import { EXACT_TITLE_BONUS, MAX_KEY, spacePkOf, TITLE_BONUS } from './order.ts';
import type { SearchResultJson } from './results.ts';
import { type FoundRow, readKeysByTitle, readRows } from './rows.ts';

/** What all rungs of a list share. */
export interface RungSearch extends KeySearch {
  /** Whether the list omits a space, because it has changed since the first page was read. */
  isChanged: IsChanged;
}

export interface Hit {
  key: number;
  rank: number;
  result: SearchResultJson;
}

export interface RungRead {
  /** By ascending rank. */
  hits: Hit[];
  /** The rank after which to continue if the budget is spent; null otherwise. */
  resumeAfter: number | null;
}

/** Reads the spaces that match an interpretation and have ranks greater than `after`, except `omitted` ones. */
export async function readRung(
  search: RungSearch,
  interpretation: Interpretation,
  after: number,
  omitted: Iterable<number>,
  maxHits: number,
  budget: Budget,
): Promise<RungRead> {
  const matcher = matcherOf(interpretation);
  const titleKeys = titleKeysOf(interpretation);
  const nameKeys = interpretation.names.map(titleKey).filter((key) => !titleKeys.includes(key));
  const ranking = new Ranking(search, matcher, titleKeys, nameKeys, after, budget);
  // If a space moves up meanwhile, the word index can return it again.
  const omittedSpaces = new Set(omitted);
  const isOmitted = (key: number) => omittedSpaces.has(spacePkOf(key));
  const hits: Hit[] = [];
  let reached = after;
  let rejected = 0;

  while (hits.length < maxHits) {
    // After rejections, takes more than are missing, because a statement costs about the same with more rows.
    const candidates = ranking.take(maxHits - hits.length + rejected);
    if (candidates.length === 0) {
      reached = Math.max(reached, ranking.reached);
      if (reached === Infinity) return { hits, resumeAfter: null };
      const limit = (maxHits - hits.length) * (matcher.mustVerify ? 2 : 1) + rejected;
      // A page that ends where it began would link to itself.
      const mayOverdraw = reached === after;
      const isRead = await ranking.readMore(limit, mayOverdraw);
      if (!isRead) return { hits, resumeAfter: reached };
      continue;
    }
    const keys = candidates.map(({ key }) => key).filter((key) => !isOmitted(key));
    const rows =
      keys.length > 0
        ? await readRows(search.resources, search.db, keys)
        : new Map<number, FoundRow>();
    for (const { key, rank, kind } of candidates) {
      if (hits.length === maxHits) break;
      reached = rank;
      if (isOmitted(key)) continue;
      const row = rows.get(key);
      const isEqual = kind === 'equal title';
      const text = row && matcher.mustVerify && !isEqual ? readText(row) : undefined;
      const isHit =
        row !== undefined &&
        !search.isChanged(row) &&
        (isEqual || ![...titleKeys, ...nameKeys].includes(row.title_key)) &&
        (text === undefined || isMatch(text, matcher, kind));
      if (isHit) {
        omittedSpaces.add(spacePkOf(key));
        hits.push({ key, rank, result: row.result });
        continue;
      }
      rejected += 1;
      if (row) rejectRow(budget, text ? text.title.length + text.description.length : 0);
      else skipMissingRow(budget);
      if (budget.rejectedRows <= 0) return { hits, resumeAfter: reached };
    }
    // Verifying the texts of all rejected rows takes several milliseconds.
    if (matcher.mustVerify) await nextTurn();
  }
  return { hits, resumeAfter: null };
}

type SpaceText = Pick<SearchResult, 'title' | 'description'>;

function readText({ result }: FoundRow): SpaceText {
  return JSON.parse(result) as SearchResult;
}

/** Decides from the text of a candidate what the index cannot decide. */
function isMatch({ title, description }: SpaceText, matcher: Matcher, kind: Kind): boolean {
  const isTitleMatch = matcher.matches(new SplitText(title));
  return kind === 'title'
    ? isTitleMatch
    : !isTitleMatch && matcher.matches(new SplitText(`${title}\n${description}`));
}

type Kind = 'equal title' | 'title' | 'other';

/** One of the sequences of keys that are merged. */
interface Stream {
  kind: Kind;
  /** A key minus this is its rank. */
  bonus: number;
  find(
    range: { after: number; limit: number },
    mayOverdraw: boolean,
  ): Promise<FoundKeys | undefined>;
  /** Keys that have been read but not merged. */
  keys: number[];
  /** The last key that was searched; Infinity at the end. */
  reached: number;
}

/** A match according to the index. */
interface Candidate {
  key: number;
  rank: number;
  kind: Kind;
}

/** The keys of matching spaces in the order of their ranks. */
class Ranking {
  /** If ranks are equal, the first stream comes first. */
  readonly #streams: Stream[];
  constructor(
    search: KeySearch,
    { pattern, mustVerify }: Matcher,
    titleKeys: readonly string[],
    nameKeys: readonly string[],
    after: number,
    budget: Budget,
  ) {
    const titles = { pattern, scope: 'title' } as const;
    // A page that continues among the title matches has not read the first of them, so the index excludes them. It can
    // exclude only what it matches exactly. Otherwise, each title match precedes the other match of the same space.
    const scope = after < -TITLE_BONUS || mustVerify ? 'all' : 'other';
    const open = (kind: Kind, bonus: number, find: Stream['find']): Stream => {
      const reached = after + bonus > MAX_KEY ? Infinity : Math.max(-1, after + bonus);
      return { kind, bonus, find, keys: [], reached };
    };
    this.#streams = [
      open('equal title', EXACT_TITLE_BONUS, (range) => findEqualTitles(search, titleKeys, range)),
      open('equal title', TITLE_BONUS, (range) => findEqualTitles(search, nameKeys, range)),
      open('title', TITLE_BONUS, (range, mayOverdraw) =>
        findKeys(search, titles, range, budget, mayOverdraw),
      ),
      open('other', 0, (range, mayOverdraw) =>
        findKeys(search, { pattern, scope }, range, budget, mayOverdraw),
      ),
    ];
  }

  /** The rank up to which all streams have been searched; Infinity at the end. */
  get reached(): number {
    return Math.min(...this.#streams.map(rankReached));
  }

  /** Removes and returns up to `limit` keys that `readMore` has read, as far as all streams have been searched. */
  take(limit: number): Candidate[] {
    const taken: Candidate[] = [];
    const maxRank = this.reached;
    while (taken.length < limit) {
      const next = minBy(this.#streams, firstRank);
      const rank = firstRank(next);
      const key = next.keys[0];
      if (key === undefined || rank > maxRank) break;
      next.keys.shift();
      taken.push({ key, rank, kind: next.kind });
    }
    return taken;
  }

  /**
   * Reads the next keys of the stream that lags behind.
   * @param mayOverdraw whether to read even if it costs more than the budget
   * @returns false if the budget is spent
   */
  async readMore(limit: number, mayOverdraw: boolean): Promise<boolean> {
    const stream = minBy(this.#streams, rankReached);
    // Title matches that are not yet merged are among the other matches, too.
    const pending = this.#streams.reduce((sum, { keys }) => sum + keys.length, 0);
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
  { after, limit }: { after: number; limit: number },
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
