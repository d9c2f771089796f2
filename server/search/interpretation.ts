import type { WordPattern } from '../database/word-index.ts';
import { matches, type QueryWord, queryWords, type SplitText } from '../text/words/query.ts';
import { titleKey } from '../text/words/tokenize.ts';

/** One way to understand a query. Cursors contain it, so it consists of texts and numbers only. */
export interface Interpretation {
  /** For people: `typed`, `corrected`, `3 of 4 words`. */
  name: string;
  /** The query in its most probable form. Titles that equal it come first. */
  text: string;
  words: readonly Alternative[];
  /** A space whose title equals one of these texts matches, too, like a title match. */
  names: readonly string[];
  /** The index of the first word of each pair of adjacent words that also match joined: `fast api` as `fastapi`. */
  joins: readonly number[];
  /** The indexes of words that a match need not have, except as a part of a joined word. */
  optional: readonly number[];
  /** How many of the other words a match can lack, whichever they are. */
  missing: number;
}

/** The alternatives for one word. A text can have several words, a form is one whole word. */
export type Alternative = readonly [texts: readonly string[], forms: readonly string[]];

/** A condition on the text of a space: as a pattern for the word index, and as a test of the text itself. */
export interface Matcher {
  pattern: WordPattern;
  /** Whether the index can return false positives, because it stores only bigrams for scripts without spaces. */
  mustVerify: boolean;
  matches(text: string | SplitText): boolean;
}

/** Returns an interpretation that requires one of the alternatives of each word. */
export function interpret(
  name: string,
  words: readonly Alternative[],
  options: Partial<Interpretation> = {},
): Interpretation {
  const text = words.map(([[first]]) => first).join(' ');
  return { name, text, words, names: [], joins: [], optional: [], missing: 0, ...options };
}

/** Returns the condition that a space must meet to match an interpretation. */
export function matcherOf(interpretation: Interpretation): Matcher {
  const { words, missing } = interpretation;
  const alternatives = words.map(([texts, forms], i) => {
    const hasMoreWords = i < words.length - 1;
    return anyOf([
      ...texts.map((text) => textMatcher(text, hasMoreWords)),
      ...forms.map(formMatcher),
    ]);
  });
  const ways = wordGroups(interpretation).map((groups) => {
    const parts = withoutOptional(groups, interpretation).map((group) =>
      group.length === 1
        ? (alternatives[group[0] as number] as Matcher)
        : textMatcher(joinedText(interpretation, group)),
    );
    return atLeast(parts.length - missing, parts);
  });
  return anyOf(ways);
}

/**
 * Returns the keys of titles that equal an interpretation, also with joined pairs, with all words joined and without its
 * optional words.
 */
export function titleKeysOf(interpretation: Interpretation): string[] {
  const ways = wordGroups(interpretation);
  const [, ...joined] = ways;
  const shortened =
    interpretation.optional.length > 0
      ? ways.map((groups) => withoutOptional(groups, interpretation))
      : [];
  const whole = [[...interpretation.words.keys()]];
  const texts = [...joined, ...shortened, whole].map((groups) =>
    groups.map((group) => joinedText(interpretation, group)).join(' '),
  );
  return [...new Set([interpretation.text, ...texts].map(titleKey))];
}

/**
 * Returns every way to join some of the pairs: lists of groups, where a group has the indexes of words to join to one.
 * The first way joins no words.
 */
function wordGroups({ words, joins }: Interpretation): number[][][] {
  let ways: number[][][] = [[]];
  for (const i of words.keys()) {
    ways = ways.flatMap((groups) => {
      const apart = [...groups, [i]];
      if (!joins.includes(i - 1)) return [apart];
      return [apart, [...groups.slice(0, -1), [...(groups.at(-1) as number[]), i]]];
    });
  }
  return ways;
}

function withoutOptional(groups: number[][], { optional }: Interpretation): number[][] {
  return groups.filter((group) => group.length > 1 || !optional.includes(group[0] as number));
}

function joinedText({ words }: Interpretation, group: number[]): string {
  return group.map((i) => titleKey(words[i]?.[0][0] as string)).join('');
}

function textMatcher(text: string, hasMoreWords = false): Matcher {
  return allOf(queryWords(text, { hasMoreWords }).map(wordMatcher));
}

/** A form of a word is whole: `forms` also finds `form`, but not `format`. */
function formMatcher(form: string): Matcher {
  const anyOf = [[{ text: form, isPrefix: false }]];
  return wordMatcher({ word: form, typed: form, anyOf, mustVerify: false, isUnspaced: false });
}

function wordMatcher(word: QueryWord): Matcher {
  const patterns = word.anyOf.map((terms) =>
    combine(
      'allOf',
      terms.map(({ text, isPrefix }) => ({ term: text, isPrefix })),
    ),
  );
  return {
    pattern: combine('anyOf', patterns),
    mustVerify: word.mustVerify,
    matches: (text) => matches([word], text),
  };
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

function allOf(matchers: Matcher[]): Matcher {
  // Candidates that the index has found rarely fail the other matchers, which also take longer.
  const verifiedFirst = matchers.toSorted((a, b) => Number(b.mustVerify) - Number(a.mustVerify));
  return {
    pattern: combine(
      'allOf',
      matchers.map(({ pattern }) => pattern),
    ),
    mustVerify: matchers.some(({ mustVerify }) => mustVerify),
    matches: (text) => verifiedFirst.every((each) => each.matches(text)),
  };
}

function anyOf(matchers: Matcher[]): Matcher {
  return {
    pattern: combine(
      'anyOf',
      matchers.map(({ pattern }) => pattern),
    ),
    mustVerify: matchers.some(({ mustVerify }) => mustVerify),
    matches: (text) => matchers.some((each) => each.matches(text)),
  };
}

// A pattern of one part is simplified to that part. Otherwise `estimateEntries` would take a term for a conjunction,
// which can cost much more than its limit.
function combine(operator: 'allOf' | 'anyOf', patterns: WordPattern[]): WordPattern {
  if (patterns.length === 1) return patterns[0] as WordPattern;
  return operator === 'allOf' ? { allOf: patterns } : { anyOf: patterns };
}
