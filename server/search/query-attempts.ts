import type { QueryWord } from '../text/words/query.ts';
import { newBudget } from './budget.ts';
import { type Alternative, type Alternatives, alternativesMatcher } from './matcher.ts';
import { type FoundKeys, findKeys } from './matching-keys.ts';
import { dropWords, estimateDocuments, findOtherQuery, typedText } from './other-query.ts';
import { type ListSearch, OTHER_QUERY_START, type ReadResult, readList } from './text-list.ts';

/**
 * Tries the query that was probably meant and then, if `mayDropWords`, queries with fewer words. The first one with
 * results becomes `search.otherQuery`. Replaces the budget of the search.
 * @param words       the query as typed
 * @param inflections the other forms of each word
 * @returns the first hits of this query; undefined if no query has results
 */
export async function tryOtherQueries(
  search: ListSearch,
  words: readonly QueryWord[],
  inflections: readonly (readonly string[])[],
  mayDropWords: boolean,
  maxHits: number,
): Promise<ReadResult | undefined> {
  search.budget = newBudget();
  const tryQuery = async (query: Alternatives) => {
    const read = await readOtherQuery(search, query, maxHits);
    return read.hits.length > 0 ? read : undefined;
  };
  const meant = findOtherQuery(search.dictionary, words);
  const found = meant && (await tryQuery(meant));
  if (found || !mayDropWords) return found;
  const base =
    meant ?? words.map((word, i): Alternative => [[typedText(word)], inflections[i] ?? []]);
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

/** Reads results of a query, which becomes `search.otherQuery` if it has any. */
async function readOtherQuery(
  search: ListSearch,
  query: Alternatives,
  maxHits: number,
): Promise<ReadResult> {
  search.otherQuery = query;
  const read = await readList(search, OTHER_QUERY_START, maxHits);
  if (read.hits.length === 0) search.otherQuery = [];
  return read;
}

/**
 * Estimates how many spaces match an alternative; 0 if there are none. If the dictionary has none of its texts, returns
 * 1 instead of the number.
 */
async function countDocuments(search: ListSearch, alternative: Alternative): Promise<number> {
  if (alternativesMatcher([alternative]).mustVerify) {
    // The index would also count spaces that have the bigrams of a run, but not the run.
    const { hits, resumeAt } = await readOtherQuery(search, [alternative], 1);
    search.otherQuery = [];
    if (hits.length === 0 && resumeAt === null) return 0;
  }
  const texts = alternative.flat();
  const known = Math.max(...texts.map((text) => estimateDocuments(search.dictionary, text)));
  return known > 0 ? known : Number(await mayMatch(search, [alternative]));
}

/** Whether a query may have matches. If it has none, this costs less than reading both streams of its section. */
async function mayMatch(search: ListSearch, query: Alternatives): Promise<boolean> {
  const found = await findFirstKey(search, query);
  return found === undefined || found.keys.length > 0 || found.reached < Infinity;
}

function findFirstKey(
  search: ListSearch,
  alternatives: Alternatives,
): Promise<FoundKeys | undefined> {
  const { resources, db } = search;
  const { pattern } = alternativesMatcher(alternatives);
  const reader = resources.engine.wordIndex.openReader(db, []);
  return findKeys(search, reader, { pattern, scope: 'all' }, { after: -1, limit: 1 });
}
