import type { Dictionary } from '../../server/search/dictionary/dictionary.ts';
import { documentKey, KEYS_PER_STEP } from '../../server/search/keys.ts';
import {
  type Alternative,
  alternativesMatcher,
  typedMatcher,
} from '../../server/search/matcher.ts';
import {
  estimateDocuments,
  findIgnoredWords,
  findInflections,
  findJoins,
  findOtherQuery,
  type PartialQuery,
  partialQueries,
  typedText,
} from '../../server/search/other-query.ts';
import { type QueryWord, queryWords } from '../../server/text/words/query.ts';
import { titleKey } from '../../server/text/words/tokenize.ts';
import type { IndexedSpace } from './generated-index.ts';

export interface Expected {
  /** The ids of the spaces that match the query as typed. */
  typed: string[];
  /** The ids of the results of the other query, which follow. */
  other: string[];
  answeredQuery: string | null;
}

/** Returns the results of a search by the rules in docs/search.md, without an index: it reads every space. */
export function expectedResults(
  spaces: readonly IndexedSpace[],
  dictionary: Dictionary,
  query: string,
  asTyped: boolean,
): Expected {
  const typedWords = queryWords(query);
  if (typedWords.length === 0) return { typed: [], other: [], answeredQuery: null };
  const textOf = ({ title, description }: IndexedSpace) => `${title}\n${description}`;
  const joins = findJoins(dictionary, typedWords);
  const ignored = asTyped ? [] : findIgnoredWords(dictionary, typedWords);
  /**
   * Returns the query with every combination of its pairs joined, without omitted words that are not joined. The first
   * text joins none. A `~` marks a join until the omitted words have been removed.
   */
  const joinedTexts = (omitted: readonly string[]) => {
    let texts = [''];
    for (const [i, { word }] of typedWords.entries()) {
      texts = texts.flatMap((text) =>
        joins.includes(i - 1) ? [`${text} ${word}`, `${text}~${word}`] : `${text} ${word}`,
      );
    }
    const required = (text: string) => text.split(' ').filter((each) => !omitted.includes(each));
    return texts.map((text) => required(text).join(' ').replaceAll('~', ''));
  };
  const shortened =
    ignored.length > 0 ? joinedTexts(ignored.map((i) => (typedWords[i] as QueryWord).word)) : [];
  const exactKeys = [query, ...joinedTexts([]).slice(1), ...shortened].map(titleKey);
  const exactTitles = spaces.filter(({ title }) => exactKeys.includes(titleKey(title)));
  const typedInflections = asTyped ? [] : findInflections(dictionary, typedWords);
  const typedQuery = typedMatcher(typedWords, { joins, ignored, inflections: typedInflections });
  const matched = spaces.filter((space) => typedQuery.matches(textOf(space)));
  const rest = matched.filter((space) => !exactTitles.includes(space));
  const typed = [
    ...inOrder(exactTitles, () => false),
    ...inOrder(rest, (title) => typedQuery.matches(title)),
  ];
  const none = { typed, other: [], answeredQuery: null };
  if (asTyped || typed.length >= 10) return none;

  const words = typedWords.filter((_, i) => !ignored.includes(i));
  const inflections = typedInflections.filter((_, i) => !ignored.includes(i));
  const find = ({ alternatives, minWords }: PartialQuery) => {
    const matcher = alternativesMatcher(alternatives, minWords);
    const others = spaces.filter(
      (space) =>
        matcher.matches(textOf(space)) && !matched.includes(space) && !exactTitles.includes(space),
    );
    const text = alternatives.map(([[each]]) => each).join(' ');
    const isExact = ({ title }: IndexedSpace) => titleKey(title) === titleKey(text);
    const ids = [
      ...inOrder(others.filter(isExact), () => false),
      ...inOrder(
        others.filter((space) => !isExact(space)),
        (title) => matcher.matches(title),
      ),
    ];
    return { text, ids };
  };
  const other = findOtherQuery(dictionary, words);
  const base =
    other ?? words.map((word, i): Alternative => [[typedText(word)], inflections[i] ?? []]);
  const documents = base.map((each) => {
    const matcher = alternativesMatcher([each]);
    const isFound = spaces.some((space) => matcher.matches(textOf(space)));
    if (matcher.mustVerify && !isFound) return 0;
    const known = Math.max(...each.flat().map((text) => estimateDocuments(dictionary, text)));
    // For words that are not in the dictionary, only whether a space has them matters.
    return known > 0 ? known : Number(isFound);
  });
  const candidates = [
    ...(other ? [{ alternatives: other, minWords: other.length }] : []),
    ...(typed.length > 0 ? [] : partialQueries(base, documents)),
  ];
  const expected: Expected = { ...none };
  for (const candidate of candidates) {
    const mayAddResults = candidate.minWords >= 2;
    const isFirst = expected.other.length === 0;
    if (expected.other.length >= 10 || !(isFirst || mayAddResults)) break;
    const { text, ids } = find(candidate);
    if (ids.length > 0) expected.answeredQuery ??= text;
    expected.other = [...new Set([...expected.other, ...ids])];
  }
  return expected;
}

/** Returns the ids of spaces by popularity step, then newest first. A match in the title counts as six steps. */
function inOrder(spaces: IndexedSpace[], isTitleMatch: (title: string) => boolean): string[] {
  const rankOf = ({ pk, participants, title }: IndexedSpace) =>
    documentKey(pk, participants) - (isTitleMatch(title) ? 6 * KEYS_PER_STEP : 0);
  return spaces
    .map((space) => ({ id: String(space.pk), rank: rankOf(space) }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ id }) => id);
}
