import type { IndexMark } from '../database/engine.ts';
import type { Page, PageRequest } from '../pagination.ts';
import type { AvatarResources } from '../resources.ts';
import { type QueryWord, queryWords } from '../text/words/query.ts';
import { titleKey } from '../text/words/tokenize.ts';
import { newBudget } from './budget.ts';
import type { Dictionary } from './dictionary/dictionary.ts';
import { spacePkOf } from './keys.ts';
import {
  type Alternatives,
  typedMatcher,
  type Variants,
  withoutIgnored,
  wordGroups,
} from './matcher.ts';
import { findIgnoredWords, findInflections, findJoins } from './other-query.ts';
import { MIN_MATCHES, tryOtherQueries } from './query-attempts.ts';
import type { SearchResultJson } from './results.ts';
import { LIST_START, type ListSearch, type ReadResult, readList } from './text-list.ts';
import { NOTHING_CHANGED, type SearchView } from './view.ts';

/**
 * Where a page begins. Includes everything that the first page decided from the dictionary, so that later pages
 * continue the same list even if the dictionary has changed.
 */
type TextPosition = readonly [
  section: number,
  after: number,
  firstMark: IndexMark,
  joins: Variants['joins'],
  ignored: Variants['ignored'],
  inflections: Variants['inflections'],
  otherText: string,
  alternatives: Alternatives,
  minWords: number,
  closerMatches: readonly number[],
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
interface Search extends ListSearch {
  words: readonly QueryWord[];
  /** The state of the index when the first page was read. */
  firstMark: IndexMark;
  /** As the dictionary had them on the first page. */
  variants: Variants;
}

/**
 * Returns a page of the public spaces that a query matches by title and description. Exact title matches come first,
 * then other matches of the query as typed, then those of at most one other query in the same way. If few spaces match
 * all words of the other query, spaces that match only some of them follow, those with more words first. Each of these
 * sections is sorted by popularity, and a title match ranks higher than one of a description. The index returns them in
 * this order.
 *
 * A page has fewer than `limit` items, and yet a next page, if its budget is spent.
 */
export async function searchText(
  resources: AvatarResources,
  dictionary: Dictionary,
  { query, asTyped }: TextQuery,
  { limit, position }: PageRequest,
  view: SearchView,
): Promise<TextPage> {
  const words = queryWords(query);
  if (words.length === 0) return { items: [], next: null, answeredQuery: null };
  const [
    section,
    after,
    firstMark,
    joins,
    ignored,
    inflections,
    otherText,
    alternatives,
    minWords,
    closerMatches,
    typedSpaces,
  ] =
    (position as TextPosition | undefined) ?? firstPosition(dictionary, words, asTyped, view.mark);
  const variants: Variants = { joins, ignored, inflections };
  const search: Search = {
    resources,
    db: view.db,
    dictionary,
    words,
    titleKeys: exactTitleKeys(query, words, variants),
    firstMark,
    isChanged: position ? await view.changesSince(firstMark) : NOTHING_CHANGED,
    variants,
    typed: typedMatcher(words, variants),
    otherQuery: { text: otherText, alternatives, minWords, closerMatches },
    typedSpaces,
    budget: newBudget(),
  };
  const mayTryOtherQuery = position === undefined && !asTyped;
  const read = mayTryOtherQuery
    ? await readFirstPage(search, limit + 1)
    : await readList(search, { section, after }, limit + 1);
  return toPage(search, read, limit);
}

function firstPosition(
  dictionary: Dictionary,
  words: readonly QueryWord[],
  asTyped: boolean,
  mark: IndexMark,
): TextPosition {
  return [
    LIST_START.section,
    LIST_START.after,
    mark,
    findJoins(dictionary, words),
    asTyped ? [] : findIgnoredWords(dictionary, words),
    asTyped ? [] : findInflections(dictionary, words),
    '',
    [],
    0,
    [],
    [],
  ];
}

/** Returns the keys of titles that equal a query, also with some of its pairs joined or without its ignored words. */
function exactTitleKeys(
  query: string,
  words: readonly QueryWord[],
  { joins, ignored }: Variants,
): string[] {
  const ways = wordGroups(words.length, joins);
  const [, ...joined] = ways;
  const shortened = ignored.length > 0 ? ways.map((groups) => withoutIgnored(groups, ignored)) : [];
  const texts = [...joined, ...shortened].map((groups) =>
    groups.map((group) => group.map((i) => words[i]?.word).join('')).join(' '),
  );
  return [...new Set([query, ...texts].map(titleKey))];
}

/** Reads the first page of a list, and sets `search.otherQuery` if the list has results of another query. */
async function readFirstPage(search: Search, maxHits: number): Promise<ReadResult> {
  // Whether another query is tried must not depend on the page size.
  const count = Math.max(maxHits, MIN_MATCHES);
  const typed = await readList(search, LIST_START, count);
  const { hits, resumeAt } = typed;
  // If the budget ended after some matches, the next page continues with the query as typed. If it ended before the
  // first match, the list continues with the other query.
  if (hits.length >= MIN_MATCHES || (resumeAt !== null && hits.length > 0)) return typed;
  search.typedSpaces = hits.map(({ key }) => spacePkOf(key));
  const { ignored, inflections } = search.variants;
  const isRequired = (_: unknown, i: number) => !ignored.includes(i);
  const other = await tryOtherQueries(
    search,
    search.words.filter(isRequired),
    inflections.filter(isRequired),
    typed,
    count,
  );
  return other ? { hits: [...hits, ...other.hits], resumeAt: other.resumeAt } : typed;
}

function toPage(search: Search, { hits, resumeAt }: ReadResult, limit: number): TextPage {
  const { firstMark, variants, otherQuery, typedSpaces } = search;
  const last = hits.length > limit ? hits[limit - 1] : undefined;
  const start = last ? { section: last.section, after: last.rank } : resumeAt;
  const next: TextPosition | null = start && [
    start.section,
    start.after,
    firstMark,
    variants.joins,
    variants.ignored,
    variants.inflections,
    otherQuery.text,
    otherQuery.alternatives,
    otherQuery.minWords,
    otherQuery.closerMatches,
    typedSpaces,
  ];
  return {
    items: hits.slice(0, limit).map(({ result }) => result),
    next,
    answeredQuery: otherQuery.alternatives.length > 0 ? otherQuery.text : null,
  };
}
