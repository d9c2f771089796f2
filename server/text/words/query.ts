import {
  bigramsOf,
  isUnspacedToken,
  joinedToken,
  LEADING_ARTICLE,
  splitToken,
  tokenize,
  truncateWord,
  withoutDot,
  wordsOfTokens,
} from './tokenize.ts';

/** A word of a query. */
export interface QueryWord {
  /** Folded, without the signs between its parts. For a script written without spaces, the whole run. */
  word: string;
  /** Folded, with the signs between its parts. As a query, it is this word again. */
  typed: string;
  /** A text matches only if it has every term of at least one of these lists. */
  anyOf: Term[][];
  /** Whether the terms are necessary but not sufficient, so that each matching text must be verified. */
  mustVerify: boolean;
  /** Whether the word is a run of a script written without spaces. */
  isUnspaced: boolean;
}

/** An indexed word, or a prefix of one. */
export interface Term {
  text: string;
  isPrefix: boolean;
}

const MAX_QUERY_WORDS = 12;

interface QueryOptions {
  /** Maximum number of words, and of terms in each list of a word. */
  limit?: number;
  /** Whether more words follow, so that the last one is complete. */
  hasMoreWords?: boolean;
  /** Whether the query is a phrase, so that no word matches longer ones. */
  isPhrase?: boolean;
}

/** Returns the first distinct words of a query. A text matches if it has all of them. */
export function queryWords(
  query: string,
  { limit = MAX_QUERY_WORDS, hasMoreWords = false, isPhrase = false }: QueryOptions = {},
): QueryWord[] {
  const words = new Map<string, QueryWord>();
  for (const token of tokenize(query)) {
    if (words.size === limit) break;
    const word = isUnspacedToken(token) ? unspacedWord(token, limit) : spacedWord(token, limit);
    words.set(word.word, word);
  }
  const found = [...words.values()];
  const isComplete = (i: number) => hasMoreWords || i < found.length - 1;
  const isWhole = (word: QueryWord, i: number) =>
    isPhrase
      ? !word.isUnspaced && partsOf(word.typed).length === 1
      : isComplete(i) && isShort(word);
  return found.map((word, i) => (isWhole(word, i) ? wholeWord(word) : word));
}

/** Returns the parts of a token without their dots before letters. An Arabic article is a part, too. */
export function partsOf(token: string): string[] {
  const parts = splitToken(token.replace(LEADING_ARTICLE, '$&-'));
  return parts.filter((part) => part !== '').map(withoutDot);
}

const HANGUL = /\p{sc=Hang}/v;
/** Letters outside the Basic Multilingual Plane, such as those of Adlam, have two UTF-16 code units each. */
const TWO_LETTERS = /^\p{L}{2}$/v;

/**
 * Returns whether a word is the prefix of too many others. `queryWords` exempts the last word, which may be incomplete.
 */
function isShort({ word, isUnspaced }: QueryWord): boolean {
  // A Hangul syllable is several letters, and particles are appended: 서울 must also match 서울에서.
  const hasFewLetters = word.length <= 2 || TWO_LETTERS.test(word);
  return !isUnspaced && hasFewLetters && !HANGUL.test(word);
}

function wholeWord(word: QueryWord): QueryWord {
  return { ...word, anyOf: [[{ text: word.word, isPrefix: false }]] };
}

function unspacedWord(token: string, limit: number): QueryWord {
  const word = joinedToken(token);
  const bigrams = [...new Set(bigramsOf(word))].slice(0, limit);
  const terms = bigrams.length
    ? bigrams.map((text) => ({ text, isPrefix: false }))
    : [prefix(word)];
  // Bigrams lose their order: 京都東京 contains 東京 and 京都 but not 東京都.
  const mustVerify = terms[0]?.text !== word;
  return { word, typed: word, anyOf: [terms], mustVerify, isUnspaced: true };
}

function spacedWord(token: string, limit: number): QueryWord {
  const word = truncateWord(joinedToken(token));
  const anyOf = [[prefix(word)]];
  const parts = splitToken(token.replace(LEADING_ARTICLE, ''));
  // A single letter matches only whole words: k-pop does not find pop for kids. If the last part is a single letter,
  // the parts do not match separately at all: who's does not mean who and s. The digits of 3.14 do not match
  // separately either.
  const isLetter = (part: string | undefined) => /^\p{L}$/v.test(part ?? '');
  if (parts[0] !== token && !isLetter(parts.at(-1)) && !parts.some((part) => part.endsWith('.'))) {
    const terms = parts.slice(0, limit).map((part) => truncateWord(withoutDot(part)));
    anyOf.push(terms.map((text) => ({ text, isPrefix: !isLetter(text) })));
  }
  return { word, typed: token, anyOf, mustVerify: false, isUnspaced: false };
}

/** A text to compare with many words. It is split into words only once, because this takes long. */
export class SplitText {
  readonly #text: string;
  #tokens: readonly string[] | undefined;
  #indexed: readonly string[] | undefined;
  #runs: readonly string[] | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  get #tokenized(): readonly string[] {
    this.#tokens ??= tokenize(this.#text);
    return this.#tokens;
  }

  /** See `indexWords`. */
  get indexed(): readonly string[] {
    this.#indexed ??= wordsOfTokens(this.#tokenized);
    return this.#indexed;
  }

  /** The words in order, separated by spaces, with underscores between their parts: `l'eau du wi-fi` as `l_eau du wi_fi`. */
  get divided(): string {
    return this.#tokenized.map((token) => partsOf(token).join('_')).join(' ');
  }

  /** The runs of scripts written without spaces. */
  get runs(): readonly string[] {
    this.#runs ??= this.#tokenized.filter(isUnspacedToken).map(joinedToken);
    return this.#runs;
  }
}

/** Returns whether a text has all of the words. Exact, unlike the index. */
export function matches(words: readonly QueryWord[], split: SplitText): boolean {
  const has = ({ text, isPrefix }: Term) =>
    split.indexed.some((word) => (isPrefix ? word.startsWith(text) : word === text));
  return words.every(({ word, anyOf, mustVerify }) =>
    mustVerify
      ? split.runs.some((run) => run.includes(word))
      : anyOf.some((terms) => terms.every(has)),
  );
}

function prefix(text: string): Term {
  return { text, isPrefix: true };
}
