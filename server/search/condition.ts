import type { WordPattern } from '../database/word-index.ts';
import { matches, type QueryWord, queryWords, type SplitText } from '../text/words/query.ts';
import { titleKey } from '../text/words/tokenize.ts';
import type { Interpretation } from './interpretation.ts';

/** What a space must have to match an interpretation: words, or one of the titles. */
export interface Condition {
  matcher: Matcher;
  /** Spaces with one of these title keys come first. */
  titleKeys: readonly string[];
  /** Spaces with one of these title keys match like title matches. */
  nameKeys: readonly string[];
}

/** A condition on the words of a space: as a pattern for the word index, and as a test of the text itself. */
export interface Matcher {
  pattern: WordPattern;
  /** Whether the index can return false positives, because it stores only bigrams for scripts without spaces. */
  mustVerify: boolean;
  matches(text: SplitText): boolean;
}

export function conditionOf(interpretation: Interpretation): Condition {
  const titleKeys = titleKeysOf(interpretation);
  return {
    matcher: matcherOf(interpretation),
    titleKeys,
    nameKeys: interpretation.names.map(titleKey).filter((key) => !titleKeys.includes(key)),
  };
}

export function matcherOf({ words, optional, missing }: Interpretation): Matcher {
  const alternatives = words.map(([texts, forms], i) => {
    const hasMoreWords = i < words.length - 1;
    return anyOf([
      ...texts.map((text) => textMatcher(text, hasMoreWords)),
      ...forms.map(formMatcher),
    ]);
  });
  const required = alternatives.filter((_, i) => !optional.includes(i));
  return atLeast(required.length - missing, required);
}

/** Returns the keys of titles that equal an interpretation, also with all words joined and without its optional words. */
export function titleKeysOf({ text, words, optional }: Interpretation): string[] {
  const keys = words.map(([[first]]) => titleKey(first as string));
  const shortened = keys.filter((_, i) => !optional.includes(i)).join(' ');
  return [...new Set([text, shortened, keys.join('')].map(titleKey))];
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
