import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { SearchResult } from '../../generated/types.gen.ts';
import type { IsChanged } from '../database/engine.ts';
import type { WordScope } from '../database/word-index.ts';
import { SplitText } from '../text/words/query.ts';
import { titleKey } from '../text/words/tokenize.ts';
import { rejectRow } from './budget.ts';
import { spacePkOf } from './keys.ts';
import { type Alternatives, alternativesMatcher, type Matcher } from './matcher.ts';
import type { KeySearch } from './matching-keys.ts';
import { RankedKeys } from './ranked-keys.ts';
import type { SearchResultJson } from './results.ts';
import { type FoundRow, readRows, readRowsByTitle } from './rows.ts';

// The sections of a list, in the order of the results.
const EXACT_TITLE = 0;
const AS_TYPED = 1;
const CLOSER_MATCHES = 2;
const OTHER_EXACT_TITLE = 3;
const OTHER_QUERY = 4;

/** Where to resume reading the list: in a section, after a rank. */
export interface ResumePoint {
  section: number;
  after: number;
}

export const LIST_START: ResumePoint = { section: EXACT_TITLE, after: -Infinity };

/** Where the results of the other query begin, except closer matches. */
export const OTHER_QUERY_START: ResumePoint = { section: OTHER_EXACT_TITLE, after: -Infinity };

/** The query whose results follow those of the query as typed. */
export interface OtherQuery {
  /**
   * What users see: the first other query that had results or continues on the next page, in its most probable form.
   */
  text: string;
  /** Empty if there is no other query. */
  alternatives: Alternatives;
  /** How many of its words a space must match. */
  minWords: number;
  /**
   * The keys of spaces that match more words than `minWords`, in the order of the results. They precede the other
   * results. Fewer than 10.
   */
  closerMatches: readonly number[];
}

export const NO_OTHER_QUERY: OtherQuery = {
  text: '',
  alternatives: [],
  minWords: 0,
  closerMatches: [],
};

/** The parameters of the list of a text search, and the resources of a request that reads it. */
export interface ListSearch extends KeySearch {
  /** The keys of titles that equal the query as typed. */
  titleKeys: readonly string[];
  /** Whether the list omits a space, because it has changed since the first page was read. */
  isChanged: IsChanged;
  /** Matches the query as typed. */
  typed: Matcher;
  otherQuery: OtherQuery;
  /**
   * The `space_pk` of each match of the query as typed, which the other query leaves out. Fewer than 10. Empty if no
   * other query was tried, even if there are matches.
   */
  typedSpaces: readonly number[];
}

export interface ReadResult {
  /** In the order of the list. */
  hits: Hit[];
  /** Where to continue if the budget is spent; null otherwise. */
  resumeAt: ResumePoint | null;
}

export interface Hit {
  section: number;
  /** Sort key within the section. */
  rank: number;
  key: number;
  result: SearchResultJson;
}

/** Reads the list from a point on, across sections. */
export async function readList(
  search: ListSearch,
  start: ResumePoint,
  maxHits: number,
): Promise<ReadResult> {
  const hits: Hit[] = [];
  const lastSection = search.otherQuery.alternatives.length > 0 ? OTHER_QUERY : AS_TYPED;
  for (let { section } = start; section <= lastSection; section += 1) {
    const after = section === start.section ? start.after : -Infinity;
    const read = await readSection(search, { section, after }, maxHits - hits.length);
    hits.push(...read.hits);
    if (read.resumeAt !== null || hits.length >= maxHits) return { hits, resumeAt: read.resumeAt };
  }
  return { hits, resumeAt: null };
}

function readSection(
  search: ListSearch,
  { section, after }: ResumePoint,
  maxHits: number,
): Promise<ReadResult> {
  switch (section) {
    case EXACT_TITLE:
      return readExactTitles(search, section, search.titleKeys, after, maxHits);
    case AS_TYPED:
      return readMatches(search, section, search.typed, after, maxHits);
    case CLOSER_MATCHES:
      return readCloserMatches(search, section, after, maxHits);
    case OTHER_EXACT_TITLE:
      return readExactTitles(search, section, otherTitleKeys(search), after, maxHits);
    default: {
      const { alternatives, minWords } = search.otherQuery;
      const matcher = alternativesMatcher(alternatives, minWords);
      return readMatches(search, section, matcher, after, maxHits);
    }
  }
}

/** Returns the key of titles that equal the other query, unless they also equal the query as typed. */
function otherTitleKeys({ otherQuery, titleKeys }: ListSearch): string[] {
  const key = titleKey(probableText(otherQuery.alternatives));
  return titleKeys.includes(key) ? [] : [key];
}

/**
 * Returns the `space_pk` of results that precede those of a section and would match it, too. There are never both typed
 * spaces and closer matches, because partial queries are tried only if no space matches as typed.
 */
function precedingSpaces({ typedSpaces, otherQuery }: ListSearch, section: number): number[] {
  if (section < OTHER_EXACT_TITLE) return [];
  return [...typedSpaces, ...otherQuery.closerMatches.map(spacePkOf)];
}

/** Returns a query with the most probable alternative of each word. */
export function probableText(query: Alternatives): string {
  return query.map(([[text]]) => text).join(' ');
}

/** Returns the hits of queries of more words as those of `CLOSER_MATCHES`. */
export function toCloserMatches(hits: readonly Hit[]): Hit[] {
  return hits.map((hit, rank) => ({ ...hit, section: CLOSER_MATCHES, rank }));
}

/** The rank of a closer match is its index in `OtherQuery.closerMatches`. */
async function readCloserMatches(
  { resources, db, isChanged, otherQuery }: ListSearch,
  section: number,
  after: number,
  maxHits: number,
): Promise<ReadResult> {
  const keys = otherQuery.closerMatches;
  if (keys.length === 0) return { hits: [], resumeAt: null };
  const rows = await readRows(resources, db, keys);
  const hits = keys.flatMap((key, rank) => {
    const row = rows.get(key);
    const isHit = row !== undefined && !isChanged(row) && rank > after;
    return isHit ? [{ section, rank, key, result: row.result }] : [];
  });
  return { hits: hits.slice(0, maxHits), resumeAt: null };
}

async function readExactTitles(
  search: ListSearch,
  section: number,
  titleKeys: readonly string[],
  after: number,
  maxHits: number,
): Promise<ReadResult> {
  const { resources, db, isChanged, budget } = search;
  // A page that continues a section reads more rows, because those that changed after the first page are omitted. So do
  // the sections of the other query, because results that precede them are omitted.
  const omitted = precedingSpaces(search, section);
  const limit =
    maxHits + omitted.length + (after === -Infinity ? 0 : Math.floor(budget.rejectedRows));
  const read = await Promise.all(
    titleKeys.map((key) => readRowsByTitle(resources, db, key, Math.max(-1, after), limit)),
  );
  const rows = read
    .flat()
    .sort((a, b) => a.key - b.key)
    .slice(0, limit);
  const hits = rows
    .filter((row) => !isChanged(row) && !omitted.includes(spacePkOf(row.key)))
    .slice(0, maxHits)
    .map(({ key, result }) => ({ section, rank: key, key, result }));
  const last = rows.at(-1);
  const isTruncated = rows.length === limit && hits.length < maxHits && last !== undefined;
  return { hits, resumeAt: isTruncated ? { section, after: last.key } : null };
}

/** Reads the matches of a section with ranks greater than `after`. */
async function readMatches(
  search: ListSearch,
  section: number,
  matcher: Matcher,
  after: number,
  maxHits: number,
): Promise<ReadResult> {
  const { resources, db, budget, titleKeys, isChanged } = search;
  const rankedKeys = new RankedKeys(search, matcher, after);
  const omittedSpaces = new Set(precedingSpaces(search, section));
  const exactTitles =
    section === OTHER_QUERY ? [...titleKeys, ...otherTitleKeys(search)] : titleKeys;
  const hits: Hit[] = [];
  let reached = after;
  let rejected = 0;

  while (hits.length < maxHits) {
    // After rejections, takes more than are missing, because each statement is a round trip to a database server.
    const candidates = rankedKeys.take(maxHits - hits.length + rejected);
    if (candidates.length === 0) {
      reached = Math.max(reached, rankedKeys.reached);
      if (reached === Infinity) return { hits, resumeAt: null };
      // Reads more after rejections, because a statement costs about the same with a higher limit.
      const limit = (maxHits - hits.length) * (matcher.mustVerify ? 2 : 1) + rejected;
      // A page that ends where it began would link to itself.
      const mayOverdraw = reached === after;
      const isRead = await rankedKeys.readMore(limit, mayOverdraw);
      if (!isRead) return { hits, resumeAt: { section, after: reached } };
      continue;
    }
    const rows = await readRows(
      resources,
      db,
      candidates.map(({ key }) => key),
    );
    for (const { key, rank, scope } of candidates) {
      if (hits.length === maxHits) break;
      reached = rank;
      const row = rows.get(key);
      const text = row && matcher.mustVerify ? readText(row) : undefined;
      const isHit =
        row !== undefined &&
        !isChanged(row) &&
        !exactTitles.includes(row.title_key) &&
        !omittedSpaces.has(spacePkOf(key)) &&
        (text === undefined || isMatch(text, matcher, scope));
      if (isHit) {
        // If a space moves up meanwhile, the word index can return it again.
        omittedSpaces.add(spacePkOf(key));
        hits.push({ section, rank, key, result: row.result });
        continue;
      }
      rejected += 1;
      rejectRow(budget, text ? text.title.length + text.description.length : 0);
      if (budget.rejectedRows <= 0) return { hits, resumeAt: { section, after: reached } };
    }
    // Verifying the texts of all rejected rows takes several milliseconds.
    if (matcher.mustVerify) await yieldToEventLoop();
  }
  return { hits, resumeAt: null };
}

type SpaceText = Pick<SearchResult, 'title' | 'description'>;

function readText({ result }: FoundRow): SpaceText {
  return JSON.parse(result) as SearchResult;
}

/** Decides from the text of a candidate what the index cannot decide. */
function isMatch({ title, description }: SpaceText, matcher: Matcher, scope: WordScope): boolean {
  const isTitleMatch = matcher.matches(new SplitText(title));
  return scope === 'title'
    ? isTitleMatch
    : !isTitleMatch && matcher.matches(new SplitText(`${title}\n${description}`));
}
