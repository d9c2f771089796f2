import type { QueryWord } from '../text/words/query.ts';
import { newBudget } from './budget.ts';
import { type Alternative, type Alternatives, alternativesMatcher } from './matcher.ts';
import { type FoundKeys, findKeys } from './matching-keys.ts';
import {
  estimateDocuments,
  findOtherQuery,
  type PartialQuery,
  partialQueries,
  typedText,
} from './other-query.ts';
import {
  type Hit,
  type ListSearch,
  NO_OTHER_QUERY,
  OTHER_QUERY_START,
  type OtherQuery,
  probableText,
  type ReadResult,
  readList,
  toCloserMatches,
} from './text-list.ts';

/**
 * If the query as typed has fewer results, another query is tried. If it has none, and the other query has fewer,
 * partial queries are tried.
 */
export const MIN_MATCHES = 10;

/** Once there are results, partial queries require at least this many words. A single word says too little. */
const MIN_WORDS_FOR_MORE_RESULTS = 2;

/**
 * Tries the query that was probably meant and then, if no space matches as typed, partial queries, until there are
 * `MIN_MATCHES` results. The last one that adds results becomes `search.otherQuery`, or the very last one if its budget
 * is spent before its first result. Replaces the budget of the search.
 * @param words       the query as typed, without ignored words
 * @param inflections the other forms of each word
 * @param typed       the first results of the query as typed
 * @param maxHits     at least `MIN_MATCHES`
 * @returns the first hits of these queries, which may all be on the next page; undefined if no query has results
 */
export async function tryOtherQueries(
  search: ListSearch,
  words: readonly QueryWord[],
  inflections: readonly (readonly string[])[],
  typed: ReadResult,
  maxHits: number,
): Promise<ReadResult | undefined> {
  search.budget = newBudget();
  const meant = findOtherQuery(search.dictionary, words);
  const allWords = (alternatives: Alternatives) => ({
    alternatives,
    minWords: alternatives.length,
  });
  const base =
    meant ?? words.map((word, i): Alternative => [[typedText(word)], inflections[i] ?? []]);
  const triesPartialQueries = typed.hits.length === 0 && base.length > 1;
  // If the budget of the query as typed is spent, the next page continues with that query instead.
  const mayContinue = typed.resumeAt === null;
  const mayContinueMeant = mayContinue && !triesPartialQueries;
  let found =
    meant && (await readOtherQuery(search, allWords(meant), [], maxHits, mayContinueMeant));
  if (!triesPartialQueries || isEnough(found)) return found;
  // Shorter queries have no partial queries to try.
  if (found && base.length <= MIN_WORDS_FOR_MORE_RESULTS) return found;
  const documents: number[] = [];
  for (const alternative of base) documents.push(await countDocuments(search, alternative));
  for (const query of partialQueries(base, documents)) {
    const leastWords = found ? MIN_WORDS_FOR_MORE_RESULTS : 1;
    if (query.minWords < leastWords) break;
    // Queries of fewer words are more likely to match, so half of the budget is reserved for them.
    const isLast = query.minWords === leastWords;
    const { entries, rejectedRows } = search.budget;
    const share = isLast ? 0 : 1 / 2;
    search.budget.entries -= entries * share;
    search.budget.rejectedRows -= rejectedRows * share;
    // The spaces that have been found match queries of fewer words, too. For a single word, `countDocuments` has looked
    // for matches.
    if (found || query.minWords === 1 || (await mayMatch(search, query))) {
      const closerHits = found?.hits ?? [];
      const continues = isLast && (closerHits.length > 0 || mayContinue);
      found = (await readOtherQuery(search, query, closerHits, maxHits, continues)) ?? found;
    }
    if (isEnough(found)) return found;
    search.budget.entries += entries * share;
    search.budget.rejectedRows += rejectedRows * share;
  }
  return found;
}

function isEnough(found: ReadResult | undefined): boolean {
  return found !== undefined && (found.hits.length >= MIN_MATCHES || found.resumeAt !== null);
}

/**
 * Reads the results of a query that are not among `closerHits`. If there are any, or may be on the next page, the query
 * becomes `search.otherQuery`.
 * @param closerHits  the hits of queries of more words
 * @param mayContinue whether the next page continues with this query if the budget is spent before its first result
 * @returns the closer hits, followed by these results; undefined if this query adds none and does not continue
 */
async function readOtherQuery(
  search: ListSearch,
  { alternatives, minWords }: PartialQuery,
  closerHits: readonly Hit[],
  maxHits: number,
  mayContinue: boolean,
): Promise<ReadResult | undefined> {
  const otherQuery: OtherQuery = {
    text: search.otherQuery.text || probableText(alternatives),
    alternatives,
    minWords,
    closerMatches: closerHits.map(({ key }) => key),
  };
  const read = await readList({ ...search, otherQuery }, OTHER_QUERY_START, maxHits);
  const continues = mayContinue && read.resumeAt !== null;
  if (read.hits.length === 0 && !continues) return undefined;
  search.otherQuery = otherQuery;
  return { hits: [...toCloserMatches(closerHits), ...read.hits], resumeAt: read.resumeAt };
}

/**
 * Estimates how many spaces match an alternative; 0 if there are none. If the dictionary has none of its texts, returns
 * 1 instead of the number.
 */
async function countDocuments(search: ListSearch, alternative: Alternative): Promise<number> {
  if (alternativesMatcher([alternative]).mustVerify) {
    // The index would also count spaces that have the bigrams of a run, but not the run.
    const otherQuery = { ...NO_OTHER_QUERY, alternatives: [alternative], minWords: 1 };
    const { hits, resumeAt } = await readList({ ...search, otherQuery }, OTHER_QUERY_START, 1);
    if (hits.length === 0 && resumeAt === null) return 0;
  }
  const texts = alternative.flat();
  const known = Math.max(...texts.map((text) => estimateDocuments(search.dictionary, text)));
  const query = { alternatives: [alternative], minWords: 1 };
  return known > 0 ? known : Number(await mayMatch(search, query));
}

/** Whether a query may have matches. If it has none, this costs less than reading both streams of its section. */
async function mayMatch(search: ListSearch, query: PartialQuery): Promise<boolean> {
  const found = await findFirstKey(search, query);
  return found === undefined || found.keys.length > 0 || found.reached < Infinity;
}

function findFirstKey(
  search: ListSearch,
  { alternatives, minWords }: PartialQuery,
): Promise<FoundKeys | undefined> {
  const { resources, db } = search;
  const { pattern } = alternativesMatcher(alternatives, minWords);
  const reader = resources.engine.wordIndex.openReader(db, []);
  return findKeys(search, reader, { pattern, scope: 'all' }, { after: -1, limit: 1 });
}
