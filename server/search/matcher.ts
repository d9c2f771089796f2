import type { WordPattern } from '../database/word-index.ts';
import { matches, type QueryWord, queryWords, type SplitText } from '../text/words/query.ts';

/** A condition on the text of a space: as a pattern for the word index, and as a test of the text itself. */
export interface Matcher {
  pattern: WordPattern;
  /** Whether the index can return false positives, because it stores only bigrams for scripts without spaces. */
  mustVerify: boolean;
  matches(text: string | SplitText): boolean;
}

/** Texts that count as the query as typed, besides the text itself. All indexes are those of words as typed. */
export interface Variants {
  /** The index of the first word of each pair of adjacent words that also match joined: `fast api` as `fastapi`. */
  joins: readonly number[];
  /** The indexes of words that a match need not have. */
  ignored: readonly number[];
  /** For each word, its other forms. */
  inflections: readonly (readonly string[])[];
}

/** Returns a matcher for the words of a query as typed, including its variants. */
export function typedMatcher(
  words: readonly QueryWord[],
  { joins, ignored, inflections }: Variants,
): Matcher {
  const texts = words.map(({ word }) => word);
  const formMatchers = words.map((word, i) =>
    anyOf([wordMatcher(word), ...(inflections[i] ?? []).map(formMatcher)]),
  );
  const variants = wordGroups(words.length, joins).map((groups) =>
    withoutIgnored(groups, ignored).map((group) =>
      group.length === 1
        ? (formMatchers[group[0] as number] as Matcher)
        : textMatcher(group.map((i) => texts[i]).join('')),
    ),
  );
  return anyOf(variants.map(allOf));
}

/**
 * Returns every way to join some of the pairs: lists of groups, where a group has the indexes of words to join to one.
 * The first way joins no words.
 */
export function wordGroups(words: number, joins: Variants['joins']): number[][][] {
  let ways: number[][][] = [[]];
  for (let i = 0; i < words; i += 1) {
    ways = ways.flatMap((groups) => {
      const apart = [...groups, [i]];
      if (!joins.includes(i - 1)) return [apart];
      const joined = [...groups.slice(0, -1), [...(groups.at(-1) as number[]), i]];
      return [apart, joined];
    });
  }
  return ways;
}

/** Removes ignored words, but no joined ones. */
export function withoutIgnored(groups: number[][], ignored: Variants['ignored']): number[][] {
  return groups.filter((group) => group.length > 1 || !ignored.includes(group[0] as number));
}

/** A query with alternatives in place of each word. A space must match at least one text or form of each. */
export type Alternatives = readonly Alternative[];

/** The alternatives for one word. A text can have several words, a form is one whole word. */
export type Alternative = readonly [texts: readonly string[], inflections: readonly string[]];

/** @param minWords how many of the words a space must match; by default, all */
export function alternativesMatcher(
  alternatives: Alternatives,
  minWords = alternatives.length,
): Matcher {
  const words = alternatives.map(([texts, inflections], i) => {
    const hasMoreWords = i < alternatives.length - 1;
    return anyOf([
      ...texts.map((text) => textMatcher(text, hasMoreWords)),
      ...inflections.map(formMatcher),
    ]);
  });
  return atLeast(minWords, words);
}

/**
 * Matches texts that at least `count` of the matchers match: the first one and `count - 1` of the others, or `count` of
 * the others. This pattern is smaller than a list of all combinations.
 */
function atLeast(count: number, matchers: Matcher[]): Matcher {
  if (count === matchers.length) return allOf(matchers);
  const [first, ...others] = matchers as [Matcher, ...Matcher[]];
  const withFirst = count === 1 ? first : allOf([first, atLeast(count - 1, others)]);
  return anyOf([withFirst, atLeast(count, others)]);
}

function textMatcher(text: string, hasMoreWords = false): Matcher {
  return allOf(queryWords(text, { hasMoreWords }).map(wordMatcher));
}

/** A form of a word is whole: `forms` also finds `form`, but not `format`. */
function formMatcher(form: string): Matcher {
  return wordMatcher({
    word: form,
    anyOf: [[{ text: form, isPrefix: false }]],
    mustVerify: false,
    isUnspaced: false,
  });
}

function wordMatcher(word: QueryWord): Matcher {
  const patterns = word.anyOf.map((terms) =>
    allOfPatterns(terms.map(({ text, isPrefix }) => ({ term: text, isPrefix }))),
  );
  return {
    pattern: anyOfPatterns(patterns),
    mustVerify: word.mustVerify,
    matches: (text) => matches([word], text),
  };
}

function allOf(matchers: Matcher[]): Matcher {
  // Candidates that the index has found rarely fail the other matchers, which also take longer.
  const verifiedFirst = matchers.toSorted((a, b) => Number(b.mustVerify) - Number(a.mustVerify));
  return {
    pattern: allOfPatterns(matchers.map(({ pattern }) => pattern)),
    mustVerify: matchers.some(({ mustVerify }) => mustVerify),
    matches: (text) => verifiedFirst.every((each) => each.matches(text)),
  };
}

function anyOf(matchers: Matcher[]): Matcher {
  if (matchers.length === 1) return matchers[0] as Matcher;
  return {
    pattern: anyOfPatterns(matchers.map(({ pattern }) => pattern)),
    mustVerify: matchers.some(({ mustVerify }) => mustVerify),
    matches: (text) => matchers.some((each) => each.matches(text)),
  };
}

// A pattern of one part is simplified to that part. Otherwise `estimateEntries` would take a term for a conjunction,
// which can cost much more than its limit.
function allOfPatterns(patterns: WordPattern[]): WordPattern {
  return patterns.length === 1 ? (patterns[0] as WordPattern) : { allOf: patterns };
}

function anyOfPatterns(patterns: WordPattern[]): WordPattern {
  return patterns.length === 1 ? (patterns[0] as WordPattern) : { anyOf: patterns };
}
