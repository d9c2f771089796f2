import { matches, partsOf, type QueryWord, queryWords, SplitText } from '../text/words/query.ts';
import { isUnspacedToken, tokenize } from '../text/words/tokenize.ts';

/** A search for messages. */
export interface MessageQuery {
  /** A message matches only if it has all of these words. */
  words: QueryWord[];
  /** Returns whether a message with this text matches. Exact, unlike the index. */
  matches(text: string): boolean;
}

/** A quotation between spaces, so that the quotation mark in צה"ל is part of the word. */
const PHRASE = /(?<=^|\s)["“”„]([^"“”„]+)["“”](?=\s|$)/gv;

const MAX_WORDS = 12;

/**
 * Parses the text of a search. Its words match like those of the search for spaces. Phrases in quotation marks match the
 * same words one after the other. Of more than 12 words, only the first ones count, and those of phrases come first.
 */
export function parseMessageQuery(text: string): MessageQuery {
  const quoted = Array.from(text.matchAll(PHRASE), ([, phrase]) => phrase as string);
  const phrases = quoted.filter((phrase) => tokenize(phrase).length > 0);
  const others = text.replaceAll(PHRASE, ' ');
  const words = [
    ...phrases.flatMap((phrase) => queryWords(phrase, { isPhrase: true })),
    // A phrase at the end shows that the word before it is complete.
    ...queryWords(others, { hasMoreWords: /\s$/.test(others) && phrases.length > 0 }),
  ].slice(0, MAX_WORDS);
  const patterns = phrases.map(phrasePattern);
  return {
    words,
    matches(message) {
      const split = new SplitText(message);
      return matches(words, split) && patterns.every((pattern) => pattern.test(split.divided));
    },
  };
}

/**
 * Returns a pattern for `SplitText.divided`. As in a search for words, the parts of a word can be joined or separate, in
 * the phrase and in the text. At its ends, the phrase can be a part of a run of a script written without spaces.
 */
function phrasePattern(phrase: string): RegExp {
  const tokens = tokenize(phrase);
  const words = tokens.map((token) =>
    partsOf(token)
      .map((part) => Array.from(part, RegExp.escape).join('_?'))
      .join('[ _]?'),
  );
  const start = isUnspacedToken(tokens.at(0) ?? '') ? '' : '(?<![^ _])';
  const end = isUnspacedToken(tokens.at(-1) ?? '') ? '' : '(?![^ _])';
  return new RegExp(start + words.join('[ _]') + end, 'v');
}
