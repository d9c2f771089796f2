/**
 * Splits text into words, in the same way for the index and for queries.
 *
 * - A query word matches every indexed word that begins with it. A word of one or two letters does so only at the end
 *   of a query. Elsewhere it matches whole words: `go lang` does not find `good language`.
 * - A word of several parts (`node.js`, `wi-fi`, `l'eau`, `foo_bar`, `R&B`) is indexed without the signs between them.
 *   Each part is indexed, too, and so is the rest of the word from each part on: `nodejs`, `node`, `js`. So `nodejs`,
 *   `node.j`, `node` and `js` all find it. In a query, the parts may also match separately: `wi-fi` finds `wifi` and
 *   `Wi Fi`.
 * - `++` or `#` after a letter, a dot before a first letter and dots between digits belong to the word: `c++`, `.net`,
 *   `3.14`.
 * - An emoji is a word, regardless of its skin tone and presentation.
 * - A query finds any part of a run of a script written without spaces. The run is indexed as its bigrams and its last
 *   character: `東京都` as `東京`, `京都`, `都`.
 *
 * In other scripts, word boundaries are those of Unicode's UAX 29 or finer. A pattern finds them instead of
 * `Intl.Segmenter`, because a new ICU version would change its results, and they would no longer match the stored
 * index. For the same reason, a change of these rules or of `fold` needs a higher `INDEX_VERSION` in
 * `search/results.ts`, and a migration that empties the tables of `message-words/`.
 */

import { fold, nasalPrefixes } from './fold.ts';

/** The ASCII characters besides letters and digits that an indexed word may contain. */
export const WORD_SIGNS = '+#.';

/** Longer words are truncated, in the index and in queries. A word index may have a prefix index for each length. */
export const MAX_WORD_CODE_POINTS = 30;

// Parts of the patterns below, for the `v` flag.
const UNSPACED_SCRIPTS = 'Hani Hira Kana Bopo Thai Laoo Khmr Mymr Lana Tale Talu Tavt Java Bali'
  .split(' ')
  .map((script) => `\\p{sc=${script}}`)
  .join('');
/** A letter, mark or digit of these scripts. Includes the length and repetition marks that Han and kana share. */
const UNSPACED = String.raw`[[${UNSPACED_SCRIPTS}\u3006\u302A-\u302F\u3031-\u3035\u3099\u309A\u30FC]&&[\p{L}\p{M}\p{N}]]`;
/** Letters and digits, with an optional `++` or `#` after a letter. */
const PART = String.raw`[[\p{L}\p{N}]--${UNSPACED}][[\p{L}\p{M}\p{N}]--${UNSPACED}]*(?:(?<=[\p{L}\p{M}])(?:\+\+|#))?`;
/** The last two are Hebrew's geresh and gershayim. */
const JOINERS = String.raw`'"&\/:_·\-\u2010\u05F3\u05F4`;
/** The separator of two parts of a word. It is empty after `+` or `#`. */
const SEPARATOR = String.raw`[${JOINERS}]|(?<=[\p{L}\p{M}])\.(?=\p{L})|(?<=\p{N})[.,](?=\p{N})|(?<=[+#])`;
const LEADING_DOT = String.raw`(?<![.\p{L}\p{M}\p{N}])\.(?=\p{L})`;
/** An emoji. The tag characters after it spell the flags of England, Scotland and Wales. */
const PICTOGRAPH = String.raw`[\p{ExtPict}--[©®]][\u{E0020}-\u{E007F}]*`;

const TOKEN = new RegExp(
  [
    `(?:${LEADING_DOT})?${PART}(?:(?:${SEPARATOR})${PART})*`,
    `${UNSPACED}+(?:[・·]${UNSPACED}+)*`,
    String.raw`\p{RI}{2}|${PICTOGRAPH}(?:\u200D${PICTOGRAPH})*`,
  ].join('|'),
  'gv',
);
const PLAIN = /^[a-z0-9]+$/;
const STARTS_UNSPACED = new RegExp(`^${UNSPACED}`, 'v');
/**
 * A boundary between the parts of a token. There is also one between Hangul and other letters (`K팝`). A dot belongs to
 * the letters after it (`.net`) or the digits before it (`3.`, `14`).
 */
const BOUNDARY = new RegExp(
  [
    String.raw`[${JOINERS},・\u200D]|(?=\.\p{L})|(?<=\.)(?=\p{N})|(?<=[+#])(?=[\p{L}\p{N}])`,
    String.raw`(?<=\p{sc=Hang})(?=[[\p{L}\p{N}]--\p{sc=Hang}])`,
    String.raw`(?<=[[\p{L}\p{M}\p{N}]--\p{sc=Hang}])(?=\p{sc=Hang})`,
  ].join('|'),
  'v',
);
/** The article or preposition in `l'eau`, `d'art`, `الكتاب` or `بالكتاب`, which people omit in queries. */
export const LEADING_ARTICLE = /^(?:[cdjlmnst]'|[وفبك]?ال|و?لل)(?=\p{L}{3})/v;
/** At least three letters, because another number in a name such as `a380` usually means another thing. */
const CORRECTABLE = new RegExp(
  String.raw`^(?=(?:\P{L}*\p{L}){3})(?:[[\p{L}\p{N}]--${UNSPACED}]\p{M}*){4,}$`,
  'v',
);

/** Returns the distinct words to index for a text. */
export function indexWords(text: string): string[] {
  return wordsOfTokens(tokenize(text));
}

/** Returns the distinct words to index for the tokens of a text. */
export function wordsOfTokens(tokens: readonly string[]): string[] {
  const words = new Set<string>();
  for (const token of tokens) {
    if (PLAIN.test(token)) {
      words.add(truncateWord(token));
    } else if (isUnspacedToken(token)) {
      const run = joinedToken(token);
      for (const bigram of bigramsOf(run)) words.add(bigram);
      words.add(Array.from(run).at(-1) ?? run);
    } else {
      const parts = splitToken(token);
      for (const [i, part] of parts.entries()) {
        // Each part has at least one character, so `truncateWord` would remove further parts.
        const rest = joinParts(parts.slice(i, i + MAX_WORD_CODE_POINTS));
        const word = truncateWord(rest);
        words.add(word);
        // A part such as `3.` of `3.14` is not indexed separately: a query for `3.` becomes `3`, a prefix of `3.14`.
        const isLast = i === parts.length - 1;
        if (!isLast && !part.endsWith('.')) words.add(truncateWord(withoutDot(part)));
        if (LEADING_ARTICLE.test(rest)) words.add(truncateWord(rest.replace(LEADING_ARTICLE, '')));
        if (part.startsWith('.')) words.add(truncateWord(`.${rest}`));
        if (word.includes('्')) for (const prefix of nasalPrefixes(word)) words.add(prefix);
      }
    }
  }
  return [...words];
}

/** Returns the words of a title in order, separated by spaces. Titles with the same key count as equal. */
export function titleKey(title: string): string {
  return tokenize(title).map(joinedToken).join(' ');
}

/**
 * Returns whether a word can be corrected: at least four letters and digits, of which at least three are letters, in a
 * script with spaces.
 */
export function isCorrectable(word: string): boolean {
  return CORRECTABLE.test(word);
}

/** Returns the tokens of a text in order: its folded words, with the signs between their parts. */
export function tokenize(text: string): string[] {
  return fold(text).match(TOKEN) ?? [];
}

/** Returns a token without the signs between its parts. A leading dot is kept, other dots before letters are not. */
export function joinedToken(token: string): string {
  return (token.startsWith('.') ? '.' : '') + joinParts(splitToken(token));
}

function joinParts(parts: string[]): string {
  return parts.map(withoutDot).join('');
}

export function withoutDot(part: string): string {
  return part.startsWith('.') ? part.slice(1) : part;
}

export function bigramsOf(run: string): string[] {
  const characters = Array.from(run);
  return characters.slice(1).map((character, i) => characters[i] + character);
}

export function truncateWord(word: string): string {
  if (word.length <= MAX_WORD_CODE_POINTS) return word;
  return Array.from(word).slice(0, MAX_WORD_CODE_POINTS).join('');
}

/** Returns whether a token is a run of a script written without spaces. */
export function isUnspacedToken(token: string): boolean {
  return STARTS_UNSPACED.test(token);
}

/** Splits a token into its parts, without the signs between them. */
export function splitToken(token: string): string[] {
  return token.split(BOUNDARY);
}

/**
 * Segments a run of a script written without spaces into words, with ICU's dictionaries. For queries only, because a
 * new ICU version can change the result, and the index is not rebuilt then.
 */
export function segmentUnspaced(run: string): string[] {
  return Array.from(SEGMENTER.segment(run), ({ segment }) => segment);
}

const SEGMENTER = new Intl.Segmenter('en', { granularity: 'word' });
