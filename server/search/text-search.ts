import type { SearchResult } from '../../generated/types.gen.ts';
import type { WordQuery, WordScope } from '../database/engine.ts';
import type { Page, PageRequest, Position } from '../pagination.ts';
import type { Stores } from '../stores.ts';
import { type QueryWord, queryWords } from '../text/words/query.ts';
import { titleKey } from '../text/words/tokenize.ts';
import { type Budget, newBudget } from './budget.ts';
import type { Dictionary } from './dictionary/dictionary.ts';
import { KEYS_PER_STEP } from './keys.ts';
import { type Alternatives, alternativesMatcher, type Matcher, typedMatcher } from './matcher.ts';
import { findKeys } from './matching-keys.ts';
import { dropWords, findJoins, findOtherQuery } from './other-query.ts';
import type { SearchResultJson } from './results.ts';
import { type FoundRow, readEqualTitles, readRows } from './rows.ts';

/** If fewer spaces match the query as typed, another query is tried, too. Independent of the size of a page. */
const MIN_TYPED_MATCHES = 10;

/** A title match ranks like a space that is this many steps of popularity more popular: about eight times as many participants. */
const TITLE_BONUS = 6 * KEYS_PER_STEP;

const EQUAL = 0;
const TYPED = 1;
const OTHER = 2;
/** Like `OTHER`, but with spaces that match the query as typed, because the budget did not suffice to reach any of them. */
const OTHER_OR_TYPED = 3;

/**
 * Where a page begins. It contains whatever the dictionary decided on the first page, so that later pages go on with the
 * same lists.
 */
type TextPosition = readonly [
  section: number,
  /** The last rank of the section before the page. */
  after: number,
  /** The revision of the first page. */
  revision: number,
  /** See `findJoins`. */
  joins: readonly number[],
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

/** What stays the same for all sections of a request. */
interface Search {
  stores: Stores;
  dictionary: Dictionary;
  query: string;
  words: QueryWord[];
  typed: Matcher;
  revision: number;
  budget: Budget;
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
  const isFirst = position === undefined;
  const [section, after, firstRevision, joins, other]: TextPosition = isFirst
    ? [EQUAL, -1, revision, asTyped ? [] : findJoins(dictionary, words), []]
    : (position as unknown as TextPosition);
  const search: Search = {
    stores,
    dictionary,
    query,
    words,
    typed: typedMatcher(words, joins),
    revision: firstRevision,
    budget: newBudget(),
  };

  const hits: Hit[] = [];
  let decided = other;
  let cut: TextPosition | undefined;
  const toPosition = (of: number, rank: number): TextPosition => [
    of,
    rank,
    firstRevision,
    joins,
    decided,
  ];
  const wanted = isFirst && !asTyped ? Math.max(limit, MIN_TYPED_MATCHES) + 1 : limit + 1;
  const take = (of: number, found: SectionPage) => {
    hits.push(...found.hits.map((hit) => ({ ...hit, section: of })));
    if (found.cutAt !== null) cut = toPosition(of, found.cutAt);
  };

  if (section === EQUAL) take(EQUAL, await readEqualSection(search, after, wanted));
  if (section <= TYPED && hits.length < wanted && !cut) {
    const begin = section === TYPED ? after : -Infinity;
    take(TYPED, await readSection(search, search.typed, [], begin, wanted - hits.length));
  }
  const isTypedUnreached = isFirst && hits.length === 0 && cut !== undefined;
  const isWithTyped = section === OTHER_OR_TYPED || isTypedUnreached;
  const otherSection = isWithTyped ? OTHER_OR_TYPED : OTHER;
  const except = isWithTyped ? [] : [search.typed];
  if (isFirst && !asTyped && hits.length < MIN_TYPED_MATCHES && (!cut || isTypedUnreached)) {
    const found = await findOther(search, hits.length === 0, except, limit + 1);
    if (found.alternatives.length > 0) {
      decided = found.alternatives;
      cut = undefined;
      take(otherSection, found.page);
    }
  } else if (other.length > 0 && hits.length < wanted && !cut) {
    const begin = section >= OTHER ? after : -Infinity;
    take(
      otherSection,
      await readSection(search, alternativesMatcher(other), except, begin, wanted - hits.length),
    );
  }

  const last = hits.length > limit ? hits[limit - 1] : undefined;
  const next = last ? toPosition(last.section, last.rank) : (cut ?? null);
  return {
    items: hits.slice(0, limit).map(({ result }) => result),
    next: next as Position | null,
    answeredQuery: decided.length > 0 ? decided.map(([first]) => first).join(' ') : null,
  };
}

interface Hit {
  section: number;
  /** Place in the order of its section. */
  rank: number;
  result: SearchResultJson;
}

interface SectionPage {
  hits: Omit<Hit, 'section'>[];
  /** The rank after which the search can continue, if it ended because the budget was spent. */
  cutAt: number | null;
}

async function readEqualSection(
  { stores, query, revision, budget }: Search,
  after: number,
  wanted: number,
): Promise<SectionPage> {
  const limit = Math.min(wanted + (after === -1 ? 0 : budget.rejectedRows), budget.rejectedRows);
  const rows = await readEqualTitles(stores, titleKey(query), after, limit);
  const hits = rows
    .filter((row) => row.revision < revision)
    .slice(0, wanted)
    .map(({ key, result }) => ({ rank: key, result }));
  const isCutShort = rows.length === limit && hits.length < wanted;
  return { hits, cutAt: isCutShort ? (rows.at(-1)?.key ?? null) : null };
}

/**
 * Tries another query: one with corrections first, and only if nothing at all was found, ones with fewer words. A query
 * without results does not count.
 */
async function findOther(
  search: Search,
  mayDropWords: boolean,
  except: Matcher[],
  wanted: number,
): Promise<{ alternatives: Alternatives; page: SectionPage }> {
  const { dictionary, words } = search;
  search.budget = newBudget();
  const other = findOtherQuery(dictionary, words);
  const base = other ?? words.map(({ word }) => [word]);
  const candidates = [
    ...(other ? [other] : []),
    ...(mayDropWords ? dropWords(dictionary, base) : []),
  ];
  for (const alternatives of candidates) {
    const matcher = alternativesMatcher(alternatives);
    const page = await readSection(search, matcher, except, -Infinity, wanted);
    if (page.hits.length > 0) return { alternatives, page };
  }
  return { alternatives: [], page: { hits: [], cutAt: null } };
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
async function readSection(
  search: Search,
  matcher: Matcher,
  except: Matcher[],
  after: number,
  wanted: number,
): Promise<SectionPage> {
  const { stores, dictionary, budget, query, revision } = search;
  const streams = streamsOf(matcher, except, after);
  const equal = titleKey(query);
  const hits: SectionPage['hits'] = [];
  let reached = after;

  while (hits.length < wanted) {
    const ranked = takeMerged(streams, wanted - hits.length);
    if (ranked.length === 0) {
      const behind = streams.reduce((a, b) => (rankReached(b) < rankReached(a) ? b : a));
      reached = Math.max(reached, rankReached(behind));
      if (reached === Infinity) return { hits, cutAt: null };
      // Some of what must be verified is rejected.
      const limit = (wanted - hits.length) * (matcher.mustVerify ? 2 : 1);
      const range = { after: behind.reached, limit };
      const found = await findKeys(stores.engine, dictionary, behind.query, range, budget);
      if (!found) return { hits, cutAt: reached };
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
      if (isHit) hits.push({ rank, result: row.result });
      else budget.rejectedRows -= 1;
    }
    if (budget.rejectedRows <= 0 && hits.length < wanted) return { hits, cutAt: reached };
  }
  return { hits, cutAt: null };
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
