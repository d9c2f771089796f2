import type { WordPattern } from '../database/engine.ts';
import { matches, type QueryWord, queryWords } from '../text/words/query.ts';

/** A condition on the text of a space, as a pattern for the word index and as a test of the text itself. */
export interface Matcher {
  pattern: WordPattern;
  /**
   * Whether the index also finds texts that do not match: it knows the words of a text, but not the order of characters
   * in a script without spaces.
   */
  mustVerify: boolean;
  matches(text: string): boolean;
}

/** The words of a query as typed, or with the given pairs of neighbours also joined: `fast api` also as `fastapi`. */
export function typedMatcher(words: readonly QueryWord[], joins: readonly number[]): Matcher {
  const texts = words.map(({ word }) => word);
  const variants = [words.map(wordMatcher)];
  for (const first of joins) {
    for (const last of [first + 1, first + 2]) {
      // Two pairs that overlap also join all three words.
      if (last === first + 2 && !joins.includes(first + 1)) continue;
      const joined = texts.slice(first, last + 1).join('');
      variants.push([
        ...words.slice(0, first).map(wordMatcher),
        textMatcher(joined),
        ...words.slice(last + 1).map(wordMatcher),
      ]);
    }
  }
  return anyOf(variants.map(allOf));
}

/** For each position of a query, a list of texts of which a space must match one. */
export type Alternatives = readonly (readonly string[])[];

export function alternativesMatcher(alternatives: Alternatives): Matcher {
  return allOf(alternatives.map((texts) => anyOf(texts.map(textMatcher))));
}

function textMatcher(text: string): Matcher {
  return allOf(queryWords(text).map(wordMatcher));
}

function wordMatcher(word: QueryWord): Matcher {
  const lists = word.anyOf.map((terms) =>
    allOfPatterns(terms.map(({ text, isPrefix }) => ({ term: text, isPrefix }))),
  );
  return {
    pattern: anyOfPatterns(lists),
    mustVerify: word.mustVerify,
    matches: (text) => matches([word], text),
  };
}

function allOf(matchers: Matcher[]): Matcher {
  return {
    pattern: allOfPatterns(matchers.map(({ pattern }) => pattern)),
    mustVerify: matchers.some(({ mustVerify }) => mustVerify),
    matches: (text) => matchers.every((each) => each.matches(text)),
  };
}

function anyOf(matchers: Matcher[]): Matcher {
  return {
    pattern: anyOfPatterns(matchers.map(({ pattern }) => pattern)),
    mustVerify: matchers.some(({ mustVerify }) => mustVerify),
    matches: (text) => matchers.some((each) => each.matches(text)),
  };
}

// The cost of a single list is bounded by a limit, so that patterns of one part are that part.
function allOfPatterns(patterns: WordPattern[]): WordPattern {
  return patterns.length === 1 ? (patterns[0] as WordPattern) : { allOf: patterns };
}

function anyOfPatterns(patterns: WordPattern[]): WordPattern {
  return patterns.length === 1 ? (patterns[0] as WordPattern) : { anyOf: patterns };
}
