import type { QueryWord } from '../text/words/query.ts';
import type { Budget } from './budget.ts';
import { matcherOf } from './condition.ts';
import { type Alternative, type Interpretation, interpret } from './interpretation.ts';
import { findKeys } from './matching-keys.ts';
import { FIRST_RANK, MIN_WORDS_FOR_MORE_RESULTS } from './order.ts';
import { interpretAsMeant } from './rules/as-meant.ts';
import { requiredWords } from './rules/as-typed.ts';
import { withBeginnings } from './rules/beginnings.ts';
import { estimateDocuments, withFewerWords } from './rules/fewer-words.ts';
import { findSimilarTitleWords } from './rules/title-words.ts';
import { type RungSearch, readRung } from './rung.ts';

/** What the ladder of a query needs. */
export interface LadderSearch extends RungSearch {
  words: readonly QueryWord[];
  /** Whether the list has only spaces that match the query as typed. */
  isStrict: boolean;
}

/**
 * Yields the rungs of a query in the order of the results: the query as typed, the query that was probably meant, with
 * words that begin alike, and queries with fewer words.
 * @param countHits returns the number of results of the rungs so far
 */
export async function* ladder(
  search: LadderSearch,
  typed: Interpretation,
  budget: Budget,
  countHits: () => number,
): AsyncGenerator<Interpretation> {
  yield typed;
  if (search.isStrict) return;
  const required = requiredWords(search.words, typed);
  const titleWords = await findSimilarTitleWords(search, required, budget);
  const meant = interpretAsMeant(search.dictionary, required, titleWords);
  const base = meant?.words ?? requiredWords(typed.words, typed);
  if (meant) yield meant;
  const before = countHits();
  const begun = withBeginnings(search.dictionary, base);
  if (begun) yield begun;
  // A single word as typed says about as much as others like it.
  const similar = countHits() - before;
  const minWords = () => (countHits() > similar ? MIN_WORDS_FOR_MORE_RESULTS : 1);
  // Shorter queries have no fewer words to try.
  if (base.length <= minWords()) return;
  const documents: number[] = [];
  for (const word of base) documents.push(await countDocuments(search, word, budget));
  for (const fewer of withFewerWords(base, documents)) {
    const required = fewer.words.length - fewer.missing;
    if (required < minWords()) return;
    yield fewer;
  }
}

/**
 * Estimates how many spaces match an alternative; 0 if there are none. If the dictionary has none of its texts, returns
 * 1 instead of the number.
 */
async function countDocuments(
  search: RungSearch,
  word: Alternative,
  budget: Budget,
): Promise<number> {
  const alone = interpret([word]);
  const { pattern, mustVerify } = matcherOf(alone);
  if (mustVerify) {
    // The index would also count spaces that have the bigrams of a run, but not the run.
    const { hits, resumeAfter } = await readRung(search, alone, FIRST_RANK, [], 1, budget);
    if (hits.length === 0 && resumeAfter === null) return 0;
  }
  const known = Math.max(...word.flat().map((text) => estimateDocuments(search.dictionary, text)));
  if (known > 0) return known;
  const query = { pattern, scope: 'all' } as const;
  const found = await findKeys(search, query, { after: -1, limit: 1 }, budget);
  return Number(found === undefined || found.keys.length > 0 || found.reached < Infinity);
}
