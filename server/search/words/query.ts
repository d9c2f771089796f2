import type { QueryWord, Term } from '../../database/engine.ts';
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
  return [...words.values()];
}

function runWord(token: string, limit: number): QueryWord {
  const word = joinedToken(token);
  const found = [...new Set(pairsOf(word))].slice(0, limit);
  const terms = found.length ? found.map((text) => ({ text, isPrefix: false })) : [prefix(word)];
  // Pairs carry no order: 京都東京 contains 東京 and 京都 but not 東京都.
  return { word, anyOf: [terms], mustVerify: terms[0]?.text !== word };
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
  return { word, anyOf, mustVerify: false };
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
