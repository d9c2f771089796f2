import type { WordPattern } from '../database/engine.ts';
import { matches, type QueryWord, queryWords } from '../text/words/query.ts';

/** A condition on the text of a space: as a pattern for the word index, and as a test of the text itself. */
export interface Matcher {
  pattern: WordPattern;
  /**
   * Whether the index can return false positives, because it stores only bigrams for scripts without spaces.
   */
  mustVerify: boolean;
  matches(text: string): boolean;
}

/**
 * Returns a matcher for the words of a query as typed. Pairs of adjacent words may also match joined: `fast api` as
 * `fastapi`.
 * @param joins the index of the first word of each pair to join, see `findJoins`
 */
export function typedMatcher(words: readonly QueryWord[], joins: readonly number[]): Matcher {
  const texts = words.map(({ word }) => word);
  const variants = [words.map(wordMatcher)];
  for (const first of joins) {
    for (const last of [first + 1, first + 2]) {
      // Three words are joined if both of their pairs are.
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

/** A query with a list of texts in place of each word. A space must match at least one text of every list. */
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

// A pattern of one part is simplified to that part, because `findKeys` recognises single terms, which are cheap.
function allOfPatterns(patterns: WordPattern[]): WordPattern {
  return patterns.length === 1 ? (patterns[0] as WordPattern) : { allOf: patterns };
}

function anyOfPatterns(patterns: WordPattern[]): WordPattern {
  return patterns.length === 1 ? (patterns[0] as WordPattern) : { anyOf: patterns };
}
