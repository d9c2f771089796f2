import {
  ARTICLE,
  indexWords,
  isUnspaced,
  joinedToken,
  pairsOf,
  splitToken,
  tokenize,
  truncateWord,
  withoutDot,
} from './tokenize.ts';

/** A word of a query. */
export interface QueryWord {
  /** Folded, without the signs that join it. For a script written without spaces, the whole run. */
  word: string;
  /** A text matches only if it has every term of one of these lists. */
  anyOf: Term[][];
  /** Whether the terms are necessary but not sufficient, so that each matching text must be verified. */
  mustVerify: boolean;
  /** Whether the word is a run of a script written without spaces. */
  isRun: boolean;
}

/** An indexed word, or a prefix of one. */
export interface Term {
  text: string;
  isPrefix: boolean;
}

/**
 * Returns the first `limit` distinct words of a query, each with at most `limit` terms in a list. A text matches if it
 * has all of them.
 */
export function queryWords(query: string, limit = 12): QueryWord[] {
  const words = new Map<string, QueryWord>();
  for (const token of tokenize(query)) {
    if (words.size === limit) break;
    const word = isUnspaced(token) ? runWord(token, limit) : spacedWord(token, limit);
    words.set(word.word, word);
  }
  const found = [...words.values()];
  return found.map((word, i) => (i < found.length - 1 && isShort(word) ? wholeWord(word) : word));
}

const HANGUL = /\p{sc=Hang}/v;

/** One or two letters are the prefix of too many words, unless the word is still being typed. */
function isShort({ word, isRun }: QueryWord): boolean {
  // A syllable of Hangul is several letters, and particles follow it: 서울 means 서울에서, too.
  return !isRun && word.length <= 2 && !HANGUL.test(word);
}

function wholeWord(word: QueryWord): QueryWord {
  return { ...word, anyOf: [[{ text: word.word, isPrefix: false }]] };
}

function runWord(token: string, limit: number): QueryWord {
  const word = joinedToken(token);
  const found = [...new Set(pairsOf(word))].slice(0, limit);
  const terms = found.length ? found.map((text) => ({ text, isPrefix: false })) : [prefix(word)];
  // Pairs carry no order: 京都東京 contains 東京 and 京都 but not 東京都.
  return { word, anyOf: [terms], mustVerify: terms[0]?.text !== word, isRun: true };
}

function spacedWord(token: string, limit: number): QueryWord {
  const word = truncateWord(joinedToken(token));
  const anyOf = [[prefix(word)]];
  const parts = splitToken(token.replace(ARTICLE, ''));
  // A single letter is the prefix of too many words: k-pop means K pop, not pop for kids. At the end it does not stand
  // on its own at all: who's does not mean who and s.
  const isLetter = (part: string | undefined) => /^\p{L}$/v.test(part ?? '');
  if (parts[0] !== token && !isLetter(parts.at(-1)) && !parts.some((part) => part.endsWith('.'))) {
    const terms = parts.slice(0, limit).map((part) => truncateWord(withoutDot(part)));
    anyOf.push(terms.map((text) => ({ text, isPrefix: !isLetter(text) })));
  }
  return { word, anyOf, mustVerify: false, isRun: false };
}

/** Whether a text has all of the words. Decides from the text itself what the index only approximates. */
export function matches(words: readonly QueryWord[], text: string): boolean {
  const indexed = indexWords(text);
  const runs = tokenize(text)
    .filter((token) => isUnspaced(token))
    .map(joinedToken);
  const has = ({ text, isPrefix }: Term) =>
    indexed.some((word) => (isPrefix ? word.startsWith(text) : word === text));
  return words.every(({ word, anyOf, mustVerify }) =>
    mustVerify ? runs.some((run) => run.includes(word)) : anyOf.some((terms) => terms.every(has)),
  );
}

function prefix(text: string): Term {
  return { text, isPrefix: true };
}
