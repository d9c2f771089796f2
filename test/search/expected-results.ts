import type { Dictionary } from '../../server/search/dictionary/dictionary.ts';
import { documentKey, KEYS_PER_STEP } from '../../server/search/keys.ts';
import {
  type Alternatives,
  alternativesMatcher,
  typedMatcher,
} from '../../server/search/matcher.ts';
import {
  documentsOf,
  dropWords,
  findJoins,
  findOtherQuery,
} from '../../server/search/other-query.ts';
import { queryWords } from '../../server/text/words/query.ts';
import { titleKey } from '../../server/text/words/tokenize.ts';
import type { IndexedSpace } from './generated-index.ts';

/** If fewer spaces match the query as typed, the results of another query follow. */
const MIN_TYPED_RESULTS = 10;
/** The number of popularity steps that a title match counts for. */
const TITLE_MATCH_STEPS = 6;

export interface Expected {
  /** Ids of the spaces that match the query as typed, in order. */
  typed: string[];
  /** Ids of the other spaces that match the other query, in order. */
  other: string[];
  answeredQuery: string | null;
}

/** Reference implementation of the documented search rules: examines every space. */
export function expectedResults(
  spaces: readonly IndexedSpace[],
  dictionary: Dictionary,
  query: string,
  asTyped: boolean,
): Expected {
  const words = queryWords(query);
  if (words.length === 0) return { typed: [], other: [], answeredQuery: null };
  const textOf = ({ title, description }: IndexedSpace) => `${title}\n${description}`;
  const titleEqual = spaces.filter(({ title }) => titleKey(title) === titleKey(query));
  const typedMatch = typedMatcher(words, findJoins(dictionary, words));
  const matched = spaces.filter((space) => typedMatch.matches(textOf(space)));
  const rest = matched.filter((space) => !titleEqual.includes(space));
  const typed = [
    ...idsInOrder(titleEqual, () => false),
    ...idsInOrder(rest, (title) => typedMatch.matches(title)),
  ];
  const typedOnly = { typed, other: [], answeredQuery: null };
  if (asTyped || typed.length >= MIN_TYPED_RESULTS) return typedOnly;

  const resultsOf = (alternatives: Alternatives): Expected => {
    const one = alternativesMatcher(alternatives);
    const others = spaces.filter(
      (space) =>
        one.matches(textOf(space)) && !matched.includes(space) && !titleEqual.includes(space),
    );
    return {
      typed,
      other: idsInOrder(others, (title) => one.matches(title)),
      answeredQuery: alternatives.map(([text]) => text).join(' '),
    };
  };
  const other = findOtherQuery(dictionary, words);
  const base = other ?? words.map(({ word }) => [word]);
  const documents = base.map((texts) => {
    const known = Math.max(...texts.map((text) => documentsOf(dictionary, text)));
    // A word missing from the dictionary counts as 1 if a space contains it, otherwise as 0.
    const isFound = spaces.some((space) => alternativesMatcher([texts]).matches(textOf(space)));
    return known > 0 ? known : Number(isFound);
  });
  const candidates = [
    ...(other ? [other] : []),
    ...(typed.length > 0 ? [] : dropWords(base, documents)),
  ];
  return candidates.map(resultsOf).find((found) => found.other.length > 0) ?? typedOnly;
}

/** Returns the ids in the order of results: by popularity, with a bonus for title matches, then newest first. */
function idsInOrder(spaces: IndexedSpace[], isTitleMatch: (title: string) => boolean): string[] {
  const rankOf = ({ pk, participants, title }: IndexedSpace) =>
    documentKey(pk, participants) - (isTitleMatch(title) ? TITLE_MATCH_STEPS * KEYS_PER_STEP : 0);
  return spaces
    .map((space) => ({ id: String(space.pk), rank: rankOf(space) }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ id }) => id);
}
