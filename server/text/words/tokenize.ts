/**
 * Splits text into words, in the same way for the index and for queries, and on either database.
 *
 * - A query word matches any prefix of an indexed word. One or two letters do so only at the end of a query, elsewhere
 *   they match whole words: `go lang` does not find `good language`.
 * - A word joined by signs (`node.js`, `wi-fi`, `l'eau`, `foo_bar`, `R&B`) is indexed without the signs, from each of
 *   its parts to its end, and each part is indexed: `nodejs`, `node`, `js`. So `nodejs`, `node.j`, `node` and `js` all
 *   find it. In a query, its parts may also match separately: `wi-fi` finds `wifi` and `Wi Fi`.
 * - `++` or `#` after a letter, a dot before a first letter and dots between digits belong to the word: `c++`, `.net`,
 *   `3.14`.
 * - An emoji is a word, regardless of its skin tone and presentation.
 * - A query finds any part of a run of a script written without spaces. The run is indexed as its overlapping pairs and
 *   its last character: `東京都` as `東京`, `京都`, `都`.
 *
 * In other scripts, boundaries are those of Unicode's UAX 29 or finer. They come from a pattern instead of
 * `Intl.Segmenter`, whose dictionaries change with the ICU version while an index stays.
 */

import { fold, nasalPrefixes } from './fold.ts';

/** The ASCII characters besides letters and digits that an indexed word may contain. */
export const WORD_SIGNS = '+#.';

/** In code points. Longer words are truncated, in the index and in queries. The word index has every prefix of a word. */
export const MAX_WORD_LENGTH = 30;

// Parts of the patterns below, for the `v` flag.
const UNSPACED_SCRIPTS = 'Hani Hira Kana Bopo Thai Laoo Khmr Mymr Lana Tale Talu Tavt Java Bali'
  .split(' ')
  .map((script) => `\\p{sc=${script}}`)
  .join('');
/** Includes the length and repetition marks that Han and kana share. */
const UNSPACED = String.raw`[[${UNSPACED_SCRIPTS}\u3006\u302A-\u302F\u3031-\u3035\u3099\u309A\u30FC]&&[\p{L}\p{M}\p{N}]]`;
/** Letters and digits, with an optional `++` or `#` after a letter. */
const PART = String.raw`[[\p{L}\p{N}]--${UNSPACED}][[\p{L}\p{M}\p{N}]--${UNSPACED}]*(?:(?<=[\p{L}\p{M}])(?:\+\+|#))?`;
/** The last two are Hebrew's geresh and gershayim. */
const JOINERS = String.raw`'"&\/:_·\-\u2010\u05F3\u05F4`;
/** Joins two parts of one word. After a sign, it may be empty. */
const JOINT = String.raw`[${JOINERS}]|(?<=[\p{L}\p{M}])\.(?=\p{L})|(?<=\p{N})[.,](?=\p{N})|(?<=[+#])`;
const LEADING_DOT = String.raw`(?<![.\p{L}\p{M}\p{N}])\.(?=\p{L})`;
/** The tag characters spell the flags of England, Scotland and Wales. */
const PICTOGRAPH = String.raw`[\p{ExtPict}--[©®]][\u{E0020}-\u{E007F}]*`;

const TOKEN = new RegExp(
  [
    `(?:${LEADING_DOT})?${PART}(?:(?:${JOINT})${PART})*`,
    `${UNSPACED}+(?:[・·]${UNSPACED}+)*`,
    String.raw`\p{RI}{2}|${PICTOGRAPH}(?:\u200D${PICTOGRAPH})*`,
  ].join('|'),
  'gv',
);
const PLAIN = /^[a-z0-9]+$/;
const STARTS_UNSPACED = new RegExp(`^${UNSPACED}`, 'v');
/**
 * The boundaries between a token's parts, also between Hangul and other letters (`K팝`). A dot stays with the letters
 * after it (`.net`) or the digits before it (`3.`, `14`).
 */
const BOUNDARY = new RegExp(
  [
    String.raw`[${JOINERS},・\u200D]|(?=\.\p{L})|(?<=\.)(?=\p{N})|(?<=[+#])(?=[\p{L}\p{N}])`,
    String.raw`(?<=\p{sc=Hang})(?=[[\p{L}\p{N}]--\p{sc=Hang}])`,
    String.raw`(?<=[[\p{L}\p{M}\p{N}]--\p{sc=Hang}])(?=\p{sc=Hang})`,
  ].join('|'),
  'v',
);
/** The article of `l'eau`, `d'art`, `الكتاب` or `بالكتاب`, which people leave out of queries. */
export const ARTICLE = /^(?:[cdjlmnst]'|[وفبك]?ال|و?لل)(?=\p{L}{3})/v;
/** With fewer letters, another number is probably another thing instead of a misspelling. */
const CORRECTABLE = new RegExp(
  String.raw`^(?=(?:\P{L}*\p{L}){3})(?:[[\p{L}\p{N}]--${UNSPACED}]\p{M}*){4,}$`,
  'v',
);

/** Returns the distinct words to index for a text. */
export function indexWords(text: string): string[] {
  const words = new Set<string>();
  for (const token of tokenize(text)) {
    if (PLAIN.test(token)) {
      words.add(truncateWord(token));
    } else if (isUnspaced(token)) {
      const run = joinedToken(token);
      for (const pair of pairsOf(run)) words.add(pair);
      words.add(Array.from(run).at(-1) ?? run);
    } else {
      const parts = splitToken(token);
      for (const [i, part] of parts.entries()) {
        const rest = together(parts.slice(i, i + MAX_WORD_LENGTH));
        const word = truncateWord(rest);
        words.add(word);
        // Of a number, the digits up to a dot are no word of their own: a query for `3.` means `3`.
        const isLast = i === parts.length - 1;
        if (!isLast && !part.endsWith('.')) words.add(truncateWord(withoutDot(part)));
        if (ARTICLE.test(rest)) words.add(truncateWord(rest.replace(ARTICLE, '')));
        if (part.startsWith('.')) words.add(truncateWord(`.${rest}`));
        if (word.includes('्')) for (const prefix of nasalPrefixes(word)) words.add(prefix);
      }
    }
  }
  return [...words];
}

/** Returns a title's words in order, separated by spaces. Titles with equal keys count as the same title. */
export function titleKey(title: string): string {
  return tokenize(title).map(joinedToken).join(' ');
}

/** Whether a word may be corrected: at least four letters and digits, at least three of them letters, in a script written with spaces. */
export function isCorrectable(word: string): boolean {
  return CORRECTABLE.test(word);
}

/** Returns the folded words of a text in order, each with the signs that join its parts. */
export function tokenize(text: string): string[] {
  return fold(text).match(TOKEN) ?? [];
}

/** Returns a token without the signs that join its parts. Of the dots before letters, only a leading one is kept. */
export function joinedToken(token: string): string {
  return (token.startsWith('.') ? '.' : '') + together(splitToken(token));
}

function together(parts: string[]): string {
  return parts.map(withoutDot).join('');
}

export function withoutDot(part: string): string {
  return part.startsWith('.') ? part.slice(1) : part;
}

export function pairsOf(run: string): string[] {
  const characters = Array.from(run);
  return characters.slice(1).map((character, i) => characters[i] + character);
}

export function truncateWord(word: string): string {
  if (word.length <= MAX_WORD_LENGTH) return word;
  return Array.from(word).slice(0, MAX_WORD_LENGTH).join('');
}

/** Whether a token is a run of a script written without spaces. */
export function isUnspaced(token: string): boolean {
  return STARTS_UNSPACED.test(token);
}

/** Splits a token into its parts, without the signs between them. */
export function splitToken(token: string): string[] {
  return token.split(BOUNDARY);
}

/**
 * Returns the words of a run of a script written without spaces, as ICU's dictionaries see them. For queries only,
 * because these dictionaries change with the version of ICU while an index stays.
 */
export function runParts(run: string): string[] {
  return Array.from(SEGMENTER.segment(run), ({ segment }) => segment);
}

const SEGMENTER = new Intl.Segmenter('en', { granularity: 'word' });
