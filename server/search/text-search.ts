import type { SearchResult } from '../../generated/types.gen.ts';
import type { WordQuery, WordScope } from '../database/engine.ts';
import type { Page, PageRequest } from '../pagination.ts';
import type { Stores } from '../stores.ts';
import { type QueryWord, queryWords } from '../text/words/query.ts';
import { titleKey } from '../text/words/tokenize.ts';
import { type Budget, newBudget } from './budget.ts';
import type { Dictionary } from './dictionary/dictionary.ts';
import { KEYS_PER_STEP } from './keys.ts';
import {
  type Alternative,
  type Alternatives,
  alternativesMatcher,
  type Matcher,
  typedMatcher,
  type Variants,
} from './matcher.ts';
import { type FoundKeys, findKeys } from './matching-keys.ts';
import {
  documentsOf,
  dropWords,
  findInflections,
  findJoins,
  findOtherQuery,
} from './other-query.ts';
import type { SearchResultJson } from './results.ts';
import { type FoundRow, readRows, readRowsByTitle } from './rows.ts';

/** If fewer spaces match the query as typed, another query is tried, too. Independent of the size of a page. */
const MIN_TYPED_MATCHES = 10;

/** A title match ranks like a space that is this many steps of popularity more popular: about eight times as many participants. */
const TITLE_BONUS = 6 * KEYS_PER_STEP;

/** The sections of a list, in their order. */
const EQUAL = 0;
const TYPED = 1;
const OTHER = 2;
/** Like `OTHER`, but with the matches of the query as typed, of which the first page's budget reached none. */
const OTHER_OR_TYPED = 3;

/** A place in the list: a section, and the rank after which to go on in it. */
interface Place {
  section: number;
  after: number;
}

const BEGINNING: Place = { section: EQUAL, after: -Infinity };

/**
 * Where a page begins. It contains whatever the dictionary decided on the first page, so that later pages go on with the
 * same lists.
 */
type TextPosition = readonly [
  section: number,
  after: number,
  /** The revision of the first page. */
  revision: number,
  joins: Variants['joins'],
  inflections: Variants['inflections'],
  /** The other query; empty if there is none. */
  other: Alternatives,
];

export interface TextPage extends Page<SearchResultJson> {
  /** The other query whose results follow those of the query as typed; null if there is none. */
  answeredQuery: string | null;
}

export interface TextQuery {
  /** Any text; only its first 12 words count. */
  query: string;
  /** Whether only spaces that match the query as typed are wanted. */
  asTyped: boolean;
}

/** A request, with what was decided on the first page of its list. */
interface Search {
  stores: Stores;
  dictionary: Dictionary;
  query: string;
  words: QueryWord[];
  /** The revision of the first page. */
  revision: number;
  variants: Variants;
  typed: Matcher;
  /** The other query; empty if there is none. */
  other: Alternatives;
  budget: Budget;
}

/** Hits in the order of the list. */
interface Found {
  hits: Hit[];
  /** Where the list goes on, if it ended early because the budget was spent. */
  cut: Place | null;
}

interface Hit {
  section: number;
  /** Place in the order of its section. */
  rank: number;
  result: SearchResultJson;
}

/**
 * Finds public spaces by title and description: first those whose title equals the query, then those that match the
 * query as typed, then those that match one other query. Within the last two, popular spaces come first, and a title
 * match counts as a number of steps of popularity. All of them are read from the index in this order.
 * @param revision the current revision
 */
export async function searchText(
  stores: Stores,
  dictionary: Dictionary,
  { query, asTyped }: TextQuery,
  revision: number,
  { limit, position }: PageRequest,
): Promise<TextPage> {
  const words = queryWords(query);
  if (words.length === 0) return { items: [], next: null, answeredQuery: null };
  const first: TextPosition = [
    BEGINNING.section,
    BEGINNING.after,
    revision,
    findJoins(dictionary, words),
    asTyped ? [] : findInflections(dictionary, words),
    [],
  ];
  const [section, after, firstRevision, joins, inflections, other] =
    (position as TextPosition | undefined) ?? first;
  const variants: Variants = { joins, inflections };
  const search: Search = {
    stores,
    dictionary,
    query,
    words,
    revision: firstRevision,
    variants,
    typed: typedMatcher(words, variants),
    other,
    budget: newBudget(),
  };
  const mayFindOther = position === undefined && !asTyped;
  const found = mayFindOther
    ? await readFirstPage(search, limit + 1)
    : await readFrom(search, { section, after }, limit + 1);
  return toPage(search, found, limit);
}

/** Reads the first page of a list, and decides whether the results of another query are part of the list. */
async function readFirstPage(search: Search, wanted: number): Promise<Found> {
  const typed = await readFrom(search, BEGINNING, Math.max(wanted, MIN_TYPED_MATCHES));
  const { hits, cut } = typed;
  // The budget did not reach all matches as typed. They go on on the next page, unless it reached none.
  if (hits.length >= MIN_TYPED_MATCHES || (cut !== null && hits.length > 0)) return typed;
  const section = cut === null ? OTHER : OTHER_OR_TYPED;
  const other = await findOther(search, section, hits.length === 0, wanted);
  if (other.alternatives.length === 0) return typed;
  search.other = other.alternatives;
  return { hits: [...hits, ...other.found.hits], cut: other.found.cut };
}

/** Reads the list from a place on, with the other query if there is one. */
async function readFrom(search: Search, place: Place, wanted: number): Promise<Found> {
  const hits: Hit[] = [];
  const sections = place.section === OTHER_OR_TYPED ? [OTHER_OR_TYPED] : [EQUAL, TYPED, OTHER];
  for (const section of sections) {
    if (section < place.section || (section === OTHER && search.other.length === 0)) continue;
    const after = section === place.section ? place.after : -Infinity;
    const found = await readSection(search, { section, after }, wanted - hits.length);
    hits.push(...found.hits);
    if (found.cut !== null || hits.length >= wanted) return { hits, cut: found.cut };
  }
  return { hits, cut: null };
}

function readSection(search: Search, { section, after }: Place, wanted: number): Promise<Found> {
  const { typed, other } = search;
  switch (section) {
    case EQUAL:
      return readEqualTitles(search, after, wanted);
    case TYPED:
      return readMatches(search, TYPED, typed, [], after, wanted);
    default:
      return readOther(search, section, other, after, wanted);
  }
}

function readOther(
  search: Search,
  section: number,
  other: Alternatives,
  after: number,
  wanted: number,
): Promise<Found> {
  const except = section === OTHER ? [search.typed] : [];
  return readMatches(search, section, alternativesMatcher(other), except, after, wanted);
}

function toPage(
  { revision, variants: { joins, inflections }, other }: Search,
  { hits, cut }: Found,
  limit: number,
): TextPage {
  const last = hits.length > limit ? hits[limit - 1] : undefined;
  const place = last ? { section: last.section, after: last.rank } : cut;
  const next: TextPosition | null = place && [
    place.section,
    place.after,
    revision,
    joins,
    inflections,
    other,
  ];
  return {
    items: hits.slice(0, limit).map(({ result }) => result),
    next,
    answeredQuery: other.length > 0 ? other.map(([[text]]) => text).join(' ') : null,
  };
}

async function readEqualTitles(
  { stores, query, revision, budget }: Search,
  after: number,
  wanted: number,
): Promise<Found> {
  // Only on later pages can rows be newer than the list.
  const limit = wanted + (after === -Infinity ? 0 : budget.rejectedRows);
  const rows = await readRowsByTitle(stores, titleKey(query), Math.max(-1, after), limit);
  const hits = rows
    .filter((row) => row.revision < revision)
    .slice(0, wanted)
    .map(({ key, result }) => ({ section: EQUAL, rank: key, result }));
  const last = rows.at(-1);
  const isCutShort = rows.length === limit && hits.length < wanted && last !== undefined;
  return { hits, cut: isCutShort ? { section: EQUAL, after: last.key } : null };
}

/**
 * Tries another query: one with corrections first, and only if nothing at all was found, ones with fewer words. A query
 * without results does not count.
 */
async function findOther(
  search: Search,
  section: number,
  mayDropWords: boolean,
  wanted: number,
): Promise<{ alternatives: Alternatives; found: Found }> {
  const { dictionary, words } = search;
  search.budget = newBudget();
  const other = findOtherQuery(dictionary, words);
  const base = other ?? words.map(({ word }): Alternative => [[word], []]);
  const read = (alternatives: Alternatives) =>
    readOther(search, section, alternatives, -Infinity, wanted);
  if (other) {
    const found = await read(other);
    if (found.hits.length > 0) return { alternatives: other, found };
  }
  if (mayDropWords) {
    const documents: number[] = [];
    for (const each of base) documents.push(await countDocuments(search, each));
    for (const alternatives of dropWords(base, documents)) {
      if (!(await mayMatch(search, alternatives))) continue;
      const found = await read(alternatives);
      if (found.hits.length > 0) return { alternatives, found };
    }
  }
  return { alternatives: [], found: { hits: [], cut: null } };
}

/** Returns about how many spaces match an alternative. The dictionary lacks rare words, the index does not. */
async function countDocuments(search: Search, alternative: Alternative): Promise<number> {
  const texts = alternative.flat();
  const known = Math.max(...texts.map((text) => documentsOf(search.dictionary, text)));
  if (known > 0) return known;
  const found = await findFirstKey(search, [alternative]);
  return found?.keys.length ?? 0;
}

/** Whether a query may have matches. For a query without any, this costs less than reading both lists of its section. */
async function mayMatch(search: Search, alternatives: Alternatives): Promise<boolean> {
  const found = await findFirstKey(search, alternatives);
  return found === undefined || found.keys.length > 0 || found.reached < Infinity;
}

function findFirstKey(
  { stores, dictionary, budget }: Search,
  alternatives: Alternatives,
): Promise<FoundKeys | undefined> {
  const { pattern } = alternativesMatcher(alternatives);
  const query: WordQuery = { pattern, scope: 'all' };
  return findKeys(stores.engine, dictionary, query, { after: -1, limit: 1 }, budget);
}

/** One of the two lists of a section, which are merged by rank. */
interface Stream {
  query: WordQuery;
  /** What to add to a key for its rank. */
  offset: number;
  /** Found keys that are not merged yet. */
  keys: number[];
  /** The last key that was looked at. Infinity after the last one. */
  reached: number;
}

/**
 * Reads the matches of a section that come after a rank, in its order: title matches by their key less a bonus, and
 * other matches by their key.
 */
async function readMatches(
  search: Search,
  section: number,
  matcher: Matcher,
  except: Matcher[],
  after: number,
  wanted: number,
): Promise<Found> {
  const { stores, dictionary, budget, query, revision } = search;
  const streams = streamsOf(matcher, except, after);
  const equal = titleKey(query);
  const hits: Hit[] = [];
  let reached = after;

  while (hits.length < wanted) {
    const ranked = takeMerged(streams, wanted - hits.length);
    if (ranked.length === 0) {
      const behind = streams.reduce((a, b) => (rankReached(b) < rankReached(a) ? b : a));
      reached = Math.max(reached, rankReached(behind));
      if (reached === Infinity) return { hits, cut: null };
      // Some of what must be verified is rejected.
      const limit = (wanted - hits.length) * (matcher.mustVerify ? 2 : 1);
      const range = { after: behind.reached, limit };
      // A page that gets no further than it began would link to itself.
      const isForced = reached === after;
      const found = await findKeys(
        stores.engine,
        dictionary,
        behind.query,
        range,
        budget,
        isForced,
      );
      if (!found) return { hits, cut: { section, after: reached } };
      behind.keys.push(...found.keys);
      behind.reached = found.reached;
      continue;
    }
    const rows = await readRows(
      stores,
      ranked.map(({ key }) => key),
    );
    for (const { key, rank, scope } of ranked) {
      reached = rank;
      const row = rows.get(key);
      const isHit =
        row !== undefined &&
        row.revision < revision &&
        row.title_key !== equal &&
        isInSection(row, matcher, except, scope);
      if (isHit) hits.push({ section, rank, result: row.result });
      else budget.rejectedRows -= 1;
    }
    if (budget.rejectedRows <= 0 && hits.length < wanted)
      return { hits, cut: { section, after: reached } };
  }
  return { hits, cut: null };
}

function streamsOf({ pattern, mustVerify }: Matcher, except: Matcher[], after: number): Stream[] {
  // Of what must be verified, the index does not know whether it matches.
  const excluded: WordQuery['except'] = except
    .filter((each) => !each.mustVerify)
    .map((each) => ({ pattern: each.pattern, scope: 'all' }));
  const titleMatches: WordQuery['except'] = mustVerify ? [] : [{ pattern, scope: 'title' }];
  return [
    {
      query: { pattern, scope: 'title', except: excluded },
      offset: -TITLE_BONUS,
      keys: [],
      reached: Math.max(-1, after + TITLE_BONUS),
    },
    {
      query: { pattern, scope: 'all', except: [...titleMatches, ...excluded] },
      offset: 0,
      keys: [],
      reached: Math.max(-1, after),
    },
  ];
}

function rankReached({ reached, offset }: Stream): number {
  return reached + offset;
}

/** Takes the next keys of both streams by rank, as far as neither can still find one that comes before. */
function takeMerged(streams: Stream[], limit: number) {
  const merged: { key: number; rank: number; scope: WordScope }[] = [];
  const known = Math.min(...streams.map(rankReached));
  while (merged.length < limit) {
    let next: Stream | undefined;
    for (const stream of streams) {
      if (stream.keys.length === 0) continue;
      if (!next || firstRank(stream) < firstRank(next)) next = stream;
    }
    if (!next || firstRank(next) > known) return merged;
    merged.push({
      key: next.keys[0] as number,
      rank: firstRank(next),
      scope: next.query.scope,
    });
    next.keys.shift();
  }
  return merged;
}

function firstRank({ keys, offset }: Stream): number {
  return (keys[0] as number) + offset;
}

function isInSection(
  row: FoundRow,
  matcher: Matcher,
  except: Matcher[],
  scope: WordScope,
): boolean {
  const unverified = except.filter(({ mustVerify }) => mustVerify);
  if (!matcher.mustVerify && unverified.length === 0) return true;
  const { title, description } = JSON.parse(row.result) as SearchResult;
  const text = `${title}\n${description}`;
  if (unverified.some((each) => each.matches(text))) return false;
  if (!matcher.mustVerify) return true;
  const isTitleMatch = matcher.matches(title);
  return scope === 'title' ? isTitleMatch : !isTitleMatch && matcher.matches(text);
}
