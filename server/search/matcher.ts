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

/** What a query as typed also finds, as the dictionary has it. */
export interface Variants {
  /** The index of the first word of each pair of neighbours that is also joined: `fast api` also as `fastapi`. */
  joins: readonly number[];
  /** By the index of the word, its other forms. */
  inflections: readonly (readonly string[])[];
}

/** The words of a query as typed, or of one of its variants. */
export function typedMatcher(
  words: readonly QueryWord[],
  { joins, inflections }: Variants,
): Matcher {
  const texts = words.map(({ word }) => word);
  const formMatchers = words.map((word, i) =>
    anyOf([wordMatcher(word), ...(inflections[i] ?? []).map(formMatcher)]),
  );
  const variants = [formMatchers];
  for (const first of joins) {
    for (const last of [first + 1, first + 2]) {
      // Two pairs that overlap also join all three words.
      if (last === first + 2 && !joins.includes(first + 1)) continue;
      const joined = texts.slice(first, last + 1).join('');
      variants.push([
        ...formMatchers.slice(0, first),
        textMatcher(joined),
        ...formMatchers.slice(last + 1),
      ]);
    }
  }
  return anyOf(variants.map(allOf));
}

/** For each position of a query, texts and other forms of a word, of which a space must match one. */
export type Alternatives = readonly Alternative[];

export type Alternative = readonly [texts: readonly string[], inflections: readonly string[]];

export function alternativesMatcher(alternatives: Alternatives): Matcher {
  return allOf(
    alternatives.map(([texts, inflections]) =>
      anyOf([...texts.map(textMatcher), ...inflections.map(formMatcher)]),
    ),
  );
}

function textMatcher(text: string): Matcher {
  return allOf(queryWords(text).map(wordMatcher));
}

/** A form of a word is whole: `forms` also finds `form`, but not `format`. */
function formMatcher(form: string): Matcher {
  return wordMatcher({
    word: form,
    anyOf: [[{ text: form, isPrefix: false }]],
    mustVerify: false,
    isRun: false,
  });
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
  if (matchers.length === 1) return matchers[0] as Matcher;
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
