import type { SearchResult } from '../../generated/types.gen.ts';
import type { Database, WordQuery, WordReader, WordScope } from '../database/engine.ts';
import type { Page, PageRequest } from '../pagination.ts';
import type { Stores } from '../stores.ts';
import { type QueryWord, queryWords } from '../text/words/query.ts';
import { titleKey } from '../text/words/tokenize.ts';
import { newBudget } from './budget.ts';
import type { Dictionary } from './dictionary/dictionary.ts';
import { KEYS_PER_STEP, spacePkOf } from './keys.ts';
import {
  type Alternative,
  type Alternatives,
  alternativesMatcher,
  type Matcher,
  typedMatcher,
  type Variants,
} from './matcher.ts';
import { type FoundKeys, findKeys, type KeySearch } from './matching-keys.ts';
import {
  dropWords,
  estimateDocuments,
  findInflections,
  findJoins,
  findOtherQuery,
} from './other-query.ts';
import type { SearchResultJson } from './results.ts';
import { type FoundRow, readRows, readRowsByTitle } from './rows.ts';

/** If fewer spaces match the query as typed, the search also tries another query, whatever the page size. */
const MIN_TYPED_MATCHES = 10;

/** A title match ranks six popularity steps higher, like a space with about eight times as many participants. */
const TITLE_BONUS = 6 * KEYS_PER_STEP;

// The sections of a list, in the order of the results.
const EXACT_TITLE = 0;
const AS_TYPED = 1;
const OTHER_EXACT_TITLE = 2;
const OTHER_QUERY = 3;

/** Where to resume reading the list: in a section, after a rank. */
interface ResumePoint {
  section: number;
  after: number;
}

const LIST_START: ResumePoint = { section: EXACT_TITLE, after: -Infinity };
const OTHER_START: ResumePoint = { section: OTHER_EXACT_TITLE, after: -Infinity };

/**
 * Where a page begins. Includes everything that the first page decided from the dictionary, so that later pages
 * continue the same list even if the dictionary has changed.
 */
type TextPosition = readonly [
  section: number,
  after: number,
  firstRevision: number,
  joins: Variants['joins'],
  inflections: Variants['inflections'],
  otherQuery: Alternatives,
  typedSpaces: readonly number[],
];

export interface TextPage extends Page<SearchResultJson> {
  /** The other query whose results follow those of the query as typed, in its most probable form; null if none. */
  answeredQuery: string | null;
}

export interface TextQuery {
  /** Any text. Words after the first 12 are ignored. */
  query: string;
  /** Whether to return only spaces that match the query as typed. */
  asTyped: boolean;
}

/** The state of one request. */
interface Search extends KeySearch {
  words: QueryWord[];
  /** The keys of titles that equal the query as typed. */
  titleKeys: readonly string[];
  /** The revision when the first page was read. The list omits spaces with this revision or a later one. */
  firstRevision: number;
  /** As the dictionary had them on the first page. */
  variants: Variants;
  typed: Matcher;
  /** Empty if there is none. */
  otherQuery: Alternatives;
  /** All matches of the query as typed, by `space_pk`, which the other query leaves out. Fewer than 10. */
  typedSpaces: readonly number[];
}

interface ReadResult {
  /** In the order of the list. */
  hits: Hit[];
  /** Where to continue if the budget is spent; null otherwise. */
  resumeAt: ResumePoint | null;
}

interface Hit {
  section: number;
  /** Sort key within the section. */
  rank: number;
  spacePk: number;
  result: SearchResultJson;
}

/**
 * Returns a page of the public spaces that a query matches by title and description. Exact title matches come first,
 * then other matches of the query as typed, then those of at most one other query in the same way. Each of these sections
 * is sorted by popularity, and a title match ranks higher than one of a description. The index returns them in this order.
 *
 * A page has fewer than `limit` items, and yet a next page, if its budget is spent.
 * @param revision the current revision
 */
export async function searchText(
  stores: Stores,
  dictionary: Dictionary,
  { query, asTyped }: TextQuery,
  revision: number,
  { limit, position }: PageRequest,
  db: Database = stores.engine.db,
): Promise<TextPage> {
  const words = queryWords(query);
  if (words.length === 0) return { items: [], next: null, answeredQuery: null };
  const first: TextPosition = [
    LIST_START.section,
    LIST_START.after,
    revision,
    findJoins(dictionary, words),
    asTyped ? [] : findInflections(dictionary, words),
    [],
    [],
  ];
  const [section, after, firstRevision, joins, inflections, otherQuery, typedSpaces] =
    (position as TextPosition | undefined) ?? first;
  const variants: Variants = { joins, inflections };
  const search: Search = {
    stores,
    db,
    dictionary,
    words,
    titleKeys: exactTitleKeys(query, words, joins),
    firstRevision,
    variants,
    typed: typedMatcher(words, variants),
    otherQuery,
    typedSpaces,
    budget: newBudget(),
  };
  const mayTryOtherQuery = position === undefined && !asTyped;
  const read = mayTryOtherQuery
    ? await readFirstPage(search, limit + 1)
    : await readFrom(search, { section, after }, limit + 1);
  return toPage(search, read, limit);
}

/** Returns the keys of titles that equal a query, or the query with its joined words. */
function exactTitleKeys(
  query: string,
  words: readonly QueryWord[],
  joins: Variants['joins'],
): string[] {
  const typed = titleKey(query);
  if (joins.length === 0) return [typed];
  const joined = words.map(({ word }, i) => (joins.includes(i - 1) ? word : ` ${word}`)).join('');
  return [typed, titleKey(joined)];
}

/** Reads the first page of a list, and sets `search.otherQuery` if the list has results of another query. */
async function readFirstPage(search: Search, maxHits: number): Promise<ReadResult> {
  const typed = await readFrom(search, LIST_START, Math.max(maxHits, MIN_TYPED_MATCHES));
  const { hits, resumeAt } = typed;
  // If the budget ended after some matches, the next page continues with the query as typed. If it ended before the
  // first match, the list continues with the other query.
  if (hits.length >= MIN_TYPED_MATCHES || (resumeAt !== null && hits.length > 0)) return typed;
  search.typedSpaces = hits.map(({ spacePk }) => spacePk);
  const other = await tryOtherQueries(search, hits.length === 0, maxHits);
  return other ? { hits: [...hits, ...other.hits], resumeAt: other.resumeAt } : typed;
}

/** Reads the list from a point on, across sections. */
async function readFrom(search: Search, start: ResumePoint, maxHits: number): Promise<ReadResult> {
  const hits: Hit[] = [];
  for (const section of [EXACT_TITLE, AS_TYPED, OTHER_EXACT_TITLE, OTHER_QUERY]) {
    if (section < start.section) continue;
    if (section >= OTHER_START.section && search.otherQuery.length === 0) continue;
    const after = section === start.section ? start.after : -Infinity;
    const read = await readSection(search, { section, after }, maxHits - hits.length);
    hits.push(...read.hits);
    if (read.resumeAt !== null || hits.length >= maxHits) return { hits, resumeAt: read.resumeAt };
  }
  return { hits, resumeAt: null };
}

function readSection(
  search: Search,
  { section, after }: ResumePoint,
  maxHits: number,
): Promise<ReadResult> {
  switch (section) {
    case EXACT_TITLE:
      return readExactTitles(search, EXACT_TITLE, search.titleKeys, after, maxHits);
    case AS_TYPED:
      return readMatches(search, AS_TYPED, search.typed, after, maxHits);
    case OTHER_EXACT_TITLE:
      return readExactTitles(search, OTHER_EXACT_TITLE, otherTitleKeys(search), after, maxHits);
    default:
      return readMatches(
        search,
        OTHER_QUERY,
        alternativesMatcher(search.otherQuery),
        after,
        maxHits,
      );
  }
}

/** Returns the key of titles that equal the other query, unless they also equal the query as typed. */
function otherTitleKeys({ otherQuery, titleKeys }: Search): string[] {
  return [titleKey(probableText(otherQuery))].filter((key) => !titleKeys.includes(key));
}

/** Returns a query with the most probable alternative of each word. */
function probableText(query: Alternatives): string {
  return query.map(([[text]]) => text).join(' ');
}

function toPage(search: Search, { hits, resumeAt }: ReadResult, limit: number): TextPage {
  const { firstRevision, variants, otherQuery, typedSpaces } = search;
  const last = hits.length > limit ? hits[limit - 1] : undefined;
  const start = last ? { section: last.section, after: last.rank } : resumeAt;
  const next: TextPosition | null = start && [
    start.section,
    start.after,
    firstRevision,
    variants.joins,
    variants.inflections,
    otherQuery,
    typedSpaces,
  ];
  return {
    items: hits.slice(0, limit).map(({ result }) => result),
    next,
    answeredQuery: otherQuery.length > 0 ? probableText(otherQuery) : null,
  };
}

async function readExactTitles(
  { stores, db, firstRevision, typedSpaces, budget }: Search,
  section: number,
  titleKeys: readonly string[],
  after: number,
  maxHits: number,
): Promise<ReadResult> {
  // Later pages read more rows, because those that changed after the first page are omitted. So do other queries, because
  // matches of the query as typed are omitted.
  const omitted = section === OTHER_EXACT_TITLE ? typedSpaces : [];
  const limit = maxHits + omitted.length + (after === -Infinity ? 0 : budget.rejectedRows);
  const read = await Promise.all(
    titleKeys.map((key) => readRowsByTitle(stores, db, key, Math.max(-1, after), limit)),
  );
  const rows = read
    .flat()
    .sort((a, b) => a.key - b.key)
    .slice(0, limit);
  const hits = rows
    .filter((row) => row.revision < firstRevision && !omitted.includes(spacePkOf(row.key)))
    .slice(0, maxHits)
    .map(({ key, result }) => ({ section, rank: key, spacePk: spacePkOf(key), result }));
  const last = rows.at(-1);
  const isTruncated = rows.length === limit && hits.length < maxHits && last !== undefined;
  return { hits, resumeAt: isTruncated ? { section, after: last.key } : null };
}

/**
 * Tries the query that was probably meant and then, if `mayDropWords`, queries with fewer words. Returns the first hits
 * of the first one with results, which becomes `search.otherQuery`.
 */
async function tryOtherQueries(
  search: Search,
  mayDropWords: boolean,
  maxHits: number,
): Promise<ReadResult | undefined> {
  const { dictionary, words, variants } = search;
  search.budget = newBudget();
  const tryQuery = async (query: Alternatives) => {
    search.otherQuery = query;
    const read = await readFrom(search, OTHER_START, maxHits);
    if (read.hits.length > 0) return read;
    search.otherQuery = [];
    return undefined;
  };
  const meant = findOtherQuery(dictionary, words);
  const found = meant && (await tryQuery(meant));
  if (found || !mayDropWords) return found;
  const base =
    meant ?? words.map(({ word }, i): Alternative => [[word], variants.inflections[i] ?? []]);
  const documents: number[] = [];
  for (const alternative of base) documents.push(await countDocuments(search, alternative));
  for (const query of dropWords(base, documents)) {
    // Shorter queries are more likely to match, so half of the budget is reserved for them.
    const reserved = search.budget.entries / 2;
    search.budget.entries -= reserved;
    const shorter = (await mayMatch(search, query)) && (await tryQuery(query));
    if (shorter) return shorter;
    search.budget.entries += reserved;
  }
  return undefined;
}

/**
 * Estimates how many spaces match an alternative. If the dictionary has none of its texts, returns 1 if the word index
 * finds a space, and 0 otherwise.
 */
async function countDocuments(search: Search, alternative: Alternative): Promise<number> {
  const texts = alternative.flat();
  const known = Math.max(...texts.map((text) => estimateDocuments(search.dictionary, text)));
  if (known > 0) return known;
  const found = await findFirstKey(search, [alternative]);
  return found?.keys.length ?? 0;
}

/** Whether a query may have matches. For a query without any, this costs less than reading both streams of its section. */
async function mayMatch(search: Search, query: Alternatives): Promise<boolean> {
  const found = await findFirstKey(search, query);
  return found === undefined || found.keys.length > 0 || found.reached < Infinity;
}

function findFirstKey(search: Search, alternatives: Alternatives): Promise<FoundKeys | undefined> {
  const { stores, db } = search;
  const { pattern } = alternativesMatcher(alternatives);
  const query: WordQuery = { pattern, scope: 'all' };
  const reader = stores.engine.wordIndex.openReader(db, []);
  return findKeys(search, reader, query, { after: -1, limit: 1 });
}

/** One of the two sorted sequences of keys that are merged into a section: title matches, or other matches. */
interface Stream {
  query: WordQuery;
  /** Added to a key to get its rank. */
  offset: number;
  /** Keys that have been read but not merged. */
  keys: number[];
  /** Keys that belong to the other stream. */
  omitted: Set<number>;
  /** The last key that was searched; Infinity at the end. */
  reached: number;
}

/**
 * Reads the matches of a section with ranks greater than `after`. The rank of a match is its key, and that of a title
 * match its key minus a bonus.
 */
async function readMatches(
  search: Search,
  section: number,
  matcher: Matcher,
  after: number,
  maxHits: number,
): Promise<ReadResult> {
  const { stores, db, budget, titleKeys, firstRevision } = search;
  const streams = openStreams(matcher, after);
  const planned = streams.map((stream) => ({ query: stream.query, after: stream.reached }));
  const reader = stores.engine.wordIndex.openReader(db, planned);
  const [titles, others] = streams;
  const omittedSpaces = section === OTHER_QUERY ? search.typedSpaces : [];
  const exactTitles =
    section === OTHER_QUERY ? [...titleKeys, ...otherTitleKeys(search)] : titleKeys;
  const hits: Hit[] = [];
  let reached = after;
  let rejected = 0;

  while (hits.length < maxHits) {
    const candidates = takeMerged(streams, maxHits - hits.length);
    if (candidates.length === 0) {
      const lagging = streams.reduce((a, b) => (rankReached(b) < rankReached(a) ? b : a));
      reached = Math.max(reached, rankReached(lagging));
      if (reached === Infinity) return { hits, resumeAt: null };
      // Reads more after rejections, because a statement costs about the same with a higher limit.
      const limit = (maxHits - hits.length) * (matcher.mustVerify ? 2 : 1) + rejected;
      // A page that ends where it began would link to itself.
      const mayOverdraw = reached === after;
      const isRead = await readKeys(search, reader, lagging, limit, mayOverdraw);
      if (!isRead) return { hits, resumeAt: { section, after: reached } };
      // Nothing has been read from `others` or merged yet, so title matches can be left out of it by their keys.
      const isMerged = hits.length > 0 || rejected > 0;
      const hasAllTitles = after === -Infinity && others.reached < 0 && titles.reached === Infinity;
      if (hasAllTitles && !isMerged && !matcher.mustVerify) omitKeys(others, titles.keys);
      continue;
    }
    const rows = await readRows(
      stores,
      db,
      candidates.map(({ key }) => key),
    );
    for (const { key, rank, scope } of candidates) {
      reached = rank;
      const row = rows.get(key);
      const spacePk = spacePkOf(key);
      const isHit =
        row !== undefined &&
        row.revision < firstRevision &&
        !exactTitles.includes(row.title_key) &&
        !omittedSpaces.includes(spacePk) &&
        isMatch(row, matcher, scope);
      if (isHit) hits.push({ section, rank, spacePk, result: row.result });
      else {
        rejected += 1;
        budget.rejectedRows -= 1;
      }
    }
    if (budget.rejectedRows <= 0 && hits.length < maxHits) {
      return { hits, resumeAt: { section, after: reached } };
    }
  }
  return { hits, resumeAt: null };
}

function openStreams(
  { pattern, mustVerify }: Matcher,
  after: number,
): [titles: Stream, others: Stream] {
  // The index can exclude only what it matches exactly. `isMatch` excludes the rest.
  const titleMatches: WordQuery['except'] = mustVerify ? [] : [{ pattern, scope: 'title' }];
  return [
    {
      query: { pattern, scope: 'title' },
      offset: -TITLE_BONUS,
      keys: [],
      omitted: new Set(),
      reached: Math.max(-1, after + TITLE_BONUS),
    },
    {
      query: { pattern, scope: 'all', except: titleMatches },
      offset: 0,
      keys: [],
      omitted: new Set(),
      reached: Math.max(-1, after),
    },
  ];
}

/** Omits known keys from a stream, which costs less than excluding the matches of a pattern. */
function omitKeys(stream: Stream, keys: readonly number[]): void {
  stream.query = { ...stream.query, except: [] };
  stream.omitted = new Set(keys);
}

/** Reads the next keys of a stream. Returns false if the budget is spent. */
async function readKeys(
  search: Search,
  reader: WordReader,
  stream: Stream,
  limit: number,
  mayOverdraw: boolean,
): Promise<boolean> {
  const range = { after: stream.reached, limit: limit + stream.omitted.size };
  const found = await findKeys(search, reader, stream.query, range, mayOverdraw);
  if (!found) return false;
  stream.keys.push(...found.keys.filter((key) => !stream.omitted.has(key)));
  stream.reached = found.reached;
  return true;
}

function rankReached({ reached, offset }: Stream): number {
  return reached + offset;
}

/** Removes the next keys from the streams, in order of rank, as far as both streams have been searched. */
function takeMerged(streams: Stream[], limit: number) {
  const merged: { key: number; rank: number; scope: WordScope }[] = [];
  const maxRank = Math.min(...streams.map(rankReached));
  while (merged.length < limit) {
    let next: Stream | undefined;
    for (const stream of streams) {
      if (stream.keys.length === 0) continue;
      if (!next || firstRank(stream) < firstRank(next)) next = stream;
    }
    if (!next || firstRank(next) > maxRank) return merged;
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

/** Decides from the text of a candidate what the index cannot decide. */
function isMatch(row: FoundRow, matcher: Matcher, scope: WordScope): boolean {
  if (!matcher.mustVerify) return true;
  const { title, description } = JSON.parse(row.result) as SearchResult;
  const isTitleMatch = matcher.matches(title);
  return scope === 'title'
    ? isTitleMatch
    : !isTitleMatch && matcher.matches(`${title}\n${description}`);
}
