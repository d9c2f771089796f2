/**
 * Turns text into words: the same words for the index and for the query, on either database, so that
 * what is stored and what is looked for can never be folded or split in two ways.
 *
 * - A word is found by its beginning.
 * - A word joined by signs (`node.js`, `wi-fi`, `l'eau`, `foo_bar`, `R&B`) is indexed without them, from
 *   each of its parts to its end: `nodejs`, `js`. So `nodejs`, `node.j`, `node` and `js` all find it.
 *   Asked for, its parts may stand together or apart: `wi-fi` finds `wifi` and `Wi Fi`.
 * - `++` or `#` after a letter, a dot before a first letter and dots between digits belong to the
 *   word: `c++`, `.net`, `3.14`.
 * - An emoji is a word, whatever its skin tone or presentation.
 * - A run of a script written without spaces is found by any part of it. It is indexed as its
 *   overlapping pairs and its last character: `東京都` as `東京`, `京都`, `都`.
 *
 * Where spaces are written, boundaries are those of Unicode's UAX 29 or finer. They are a pattern and
 * not `Intl.Segmenter`, whose dictionaries change with the ICU version while an index stays.
 */

import traditionalToSimplified from 'opencc-js/dict/TSCharacters';

/** The ASCII characters besides letters and digits that an indexed word may hold. */
export const WORD_SIGNS = '+#.';

/** In code points. Longer words are cut, in the index and in the query alike. */
export const MAX_WORD_LENGTH = 64;

/** One word of a query. */
export interface QueryWord {
  /** Folded, without the signs that join it; for an unspaced script, the run. */
  word: string;
  /** A text must have every term of one of these lists. */
  anyOf: Term[][];
  /** The terms are necessary but not sufficient: ask `matches` about every text they find. */
  verify: boolean;
  /** Whether it is a run of a script without spaces. */
  isRun: boolean;
}

/** An indexed word, or the beginning of one. */
export interface Term {
  text: string;
  beginning: boolean;
}

// Patterns are built of these; `v` flag throughout.
const UNSPACED_SCRIPTS = 'Hani Hira Kana Bopo Thai Laoo Khmr Mymr Lana Tale Talu Tavt Java Bali'
  .split(' ')
  .map((script) => `\\p{sc=${script}}`)
  .join('');
/** With the marks of length and repetition that Han and kana share. */
const UNSPACED = String.raw`[[${UNSPACED_SCRIPTS}\u3006\u302A-\u302F\u3031-\u3035\u3099\u309A\u30FC]&&[\p{L}\p{M}\p{N}]]`;
/** Letters and digits, with the `++` or `#` that a letter may be followed by. */
const PART = String.raw`[[\p{L}\p{N}]--${UNSPACED}][[\p{L}\p{M}\p{N}]--${UNSPACED}]*(?:(?<=[\p{L}\p{M}])(?:\+\+|#))?`;
/** The last two are Hebrew's geresh and gershayim. */
const JOINERS = String.raw`'"&\/:_·\-\u2010\u05F3\u05F4`;
/** Between two parts of one word. After a sign, nothing needs to be. */
const JOINT = String.raw`[${JOINERS}]|(?<=[\p{L}\p{M}])\.(?=\p{L})|(?<=\p{N})[.,](?=\p{N})|(?<=[+#])`;
const LEADING_DOT = String.raw`(?<![.\p{L}\p{M}\p{N}])\.(?=\p{L})`;
/** The tags spell the flags of England, Scotland and Wales. */
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
const RUN = new RegExp(`^${UNSPACED}`, 'v');
/**
 * Where a token comes apart; also between Hangul and other letters (`K팝`). A dot stays with the letters
 * that follow it (`.net`) or the digits before it (`3.`, `14`).
 */
const BOUNDARY = new RegExp(
  [
    String.raw`[${JOINERS},・\u200D]|(?=\.\p{L})|(?<=\.)(?=\p{N})|(?<=[+#])(?=[\p{L}\p{N}])`,
    String.raw`(?<=\p{sc=Hang})(?=[[\p{L}\p{N}]--\p{sc=Hang}])`,
    String.raw`(?<=[[\p{L}\p{M}\p{N}]--\p{sc=Hang}])(?=\p{sc=Hang})`,
  ].join('|'),
  'v',
);
/** The article of `l'eau`, `d'art`, `الكتاب` or `بالكتاب`, which nobody looks for. */
const ARTICLE = /^(?:[cdjlmnst]'|[وفبك]?ال|و?لل)(?=\p{L}{3})/v;
/** At least three letters, since other numbers are other things and not misspellings. */
const CORRECTABLE = new RegExp(
  String.raw`^(?=(?:\P{L}*\p{L}){3})(?:[[\p{L}\p{N}]--${UNSPACED}]\p{M}*){4,}$`,
  'v',
);

const ASCII = /^[\0-\x7F]*$/;
const IGNORED = new RegExp(
  [
    // Invisible characters, but for those that make one emoji of several.
    String.raw`[\p{DI}--[\u200D\u{E0020}-\u{E007F}]]`,
    String.raw`(?<!\p{ExtPict}[\uFE0F\p{EMod}]*)\u200D|\u200D(?!\p{ExtPict})`,
    String.raw`(?<!\u{1F3F4}[\u{E0020}-\u{E007F}]{0,5})[\u{E0020}-\u{E007F}]`,
    // Skin tones.
    String.raw`\p{EMod}`,
    // What Hebrew, Arabic and Hindi may leave out: vowel signs, hamza, nukta, stretching.
    String.raw`[[\u0591-\u05C7\u064B-\u065F\u0670\u093C]&&\p{Mn}]|\u0640`,
  ].join('|'),
  'gv',
);
const MARKED = /([\p{sc=Latn}\p{sc=Grek}\p{sc=Cyrl}])\p{Mn}+/gv;
/** The digit 0 of the scripts that have digits of their own. The other nine follow it. */
const ZEROS = '٠۰߀०০੦૦୦௦౦೦൦๐໐༠၀០᠐';
/** What Unicode's normalisation leaves apart although people type one for the other. */
const SAME = new Map([
  ...(
    "ß=ss æ=ae œ=oe þ=th ø=o ł=l đ=d ð=d ħ=h ŧ=t ŋ=n ı=i ς=σ ♯=# ‘=' ’=' ‛=' ʻ=' ʼ=' " +
    'ٱ=ا ى=ي ی=ي ک=ك ة=ه ە=ه ہ=ه ँ=ं'
  )
    .split(' ')
    .map((pair) => pair.split('=') as [string, string]),
  ...Array.from(ZEROS).flatMap((zero) =>
    Array.from('0123456789', (digit, i): [string, string] => [
      String.fromCharCode(zero.charCodeAt(0) + i),
      digit,
    ]),
  ),
]);
/** Traditional Chinese characters and the simplified ones that people also write for them. */
const SIMPLIFIED = new Map(
  traditionalToSimplified.split('|').map((pair) => {
    const [traditional = '', simplified = ''] = pair.split(' ');
    return [traditional, simplified] as const;
  }),
);
const HAN = /\p{sc=Han}/gu;
const SPECIAL = new RegExp(`[${[...SAME.keys()].join('')}]`, 'gv');
/** The nasals of Devanagari's rows of consonants. A dot may be written for one: हिंदी for हिन्दी. */
const NASALS = 'ङञणनम';
const NASAL_DOT = /ं(?=[क-घच-झट-ढत-धप-भ])/g;
const NASAL_LETTER = /ङ्(?=[क-घ])|ञ्(?=[च-झ])|ण्(?=[ट-ढ])|न्(?=[त-ध])|म्(?=[प-भ])/g;

/**
 * Brings what people mean as the same to the same characters: compatibility forms (NFKC), case, marks
 * on Latin, Greek and Cyrillic letters, apostrophes, digits, and what Arabic, Persian, Hebrew,
 * Hindi and Thai write in two ways. Idempotent, and the same in every locale.
 */
export function fold(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase();
  return text
    .toWellFormed()
    .replaceAll('´', "'")
    .normalize('NFKD')
    .toLowerCase()
    .replace(IGNORED, '')
    .replaceAll('เเ', 'แ')
    .replace(MARKED, '$1')
    .replace(SPECIAL, (character) => SAME.get(character) ?? character)
    .replace(HAN, (character) => SIMPLIFIED.get(character) ?? character)
    .replace(NASAL_DOT, (_, at: number, folded: string) => nasalBefore(folded.charCodeAt(at + 1)))
    .normalize('NFC');
}

/** The nasal of the row of five in which a consonant is, without its vowel. */
function nasalBefore(consonant: number): string {
  return `${NASALS[Math.floor((consonant - 0x915) / 5)]}्`;
}

/** What somebody has typed of the word who writes its nasals as dots: हिं of हिंदी. */
function nasalBeginnings(word: string): string[] {
  return Array.from(word.matchAll(NASAL_LETTER), ({ index }) => `${word.slice(0, index)}ं`);
}

/** The distinct words to index for a text. */
export function indexWords(text: string): string[] {
  const words = new Set<string>();
  for (const token of tokens(text)) {
    if (PLAIN.test(token)) {
      words.add(cut(token));
    } else if (RUN.test(token)) {
      const run = joined(token);
      for (const pair of pairs(run)) words.add(pair);
      words.add(Array.from(run).at(-1) ?? run);
    } else {
      const parts = token.split(BOUNDARY);
      for (const [i, part] of parts.entries()) {
        const rest = together(parts.slice(i, i + MAX_WORD_LENGTH));
        const word = cut(rest);
        words.add(word);
        if (i < parts.length - 1) words.add(cut(withoutDot(part)));
        if (ARTICLE.test(rest)) words.add(cut(rest.replace(ARTICLE, '')));
        if (part.startsWith('.')) words.add(cut(`.${rest}`));
        if (word.includes('्')) for (const beginning of nasalBeginnings(word)) words.add(beginning);
      }
    }
  }
  return [...words];
}

/**
 * The distinct words that a query asks for, the first `limit` of them with at most `limit` terms in a
 * list. A text must have them all.
 */
export function queryWords(query: string, limit = 12): QueryWord[] {
  const words = new Map<string, QueryWord>();
  for (const token of tokens(query)) {
    if (words.size === limit) break;
    const word = RUN.test(token) ? runWord(token, limit) : spacedWord(token, limit);
    words.set(word.word, word);
  }
  const found = [...words.values()];
  return found.map((word, i) => (i < found.length - 1 && isShort(word) ? asWhole(word) : word));
}

/** Too many words begin with one or two letters. Only the word that is still being typed may be such a beginning. */
function isShort({ word, isRun }: QueryWord): boolean {
  return !isRun && word.length <= 2;
}

function asWhole(word: QueryWord): QueryWord {
  return { ...word, anyOf: [[{ text: word.word, beginning: false }]] };
}

function runWord(token: string, limit: number): QueryWord {
  const word = joined(token);
  const found = [...new Set(pairs(word))].slice(0, limit);
  const terms = found.length
    ? found.map((text) => ({ text, beginning: false }))
    : [beginning(word)];
  // Pairs know no order: 東京 and 京都 are in 京都東京, and 東京都 is not.
  return { word, anyOf: [terms], verify: terms[0]?.text !== word, isRun: true };
}

function spacedWord(token: string, limit: number): QueryWord {
  const word = cut(joined(token));
  const anyOf = [[beginning(word)]];
  const parts = token.replace(ARTICLE, '').split(BOUNDARY);
  // A single letter begins too many words to stand for them: k-pop means K pop, not pop for kids.
  // At the end it does not stand apart at all: who's does not mean who and s.
  const isLetter = (part: string | undefined) => /^\p{L}$/v.test(part ?? '');
  if (parts[0] !== token && !isLetter(parts.at(-1)) && !parts.some((part) => part.endsWith('.'))) {
    const terms = parts.slice(0, limit).map((part) => cut(withoutDot(part)));
    anyOf.push(terms.map((text) => ({ text, beginning: !isLetter(text) })));
  }
  return { word, anyOf, verify: false, isRun: false };
}

/** Whether a text has every one of the words: what the index means, decided on the text itself. */
export function matches(words: readonly QueryWord[], text: string): boolean {
  const indexed = indexWords(text);
  const runs = tokens(text)
    .filter((token) => RUN.test(token))
    .map(joined);
  const has = ({ text, beginning }: Term) =>
    indexed.some((word) => (beginning ? word.startsWith(text) : word === text));
  return words.every(({ word, anyOf, verify }) =>
    verify ? runs.some((run) => run.includes(word)) : anyOf.some((terms) => terms.every(has)),
  );
}

/** The words of a title in order, one space between: titles with equal keys are the same title. */
export function titleKey(title: string): string {
  return tokens(title).map(joined).join(' ');
}

/** What makes two tags the same tag. Keeps punctuation (`c++`, `a/b`, `100%`); may be empty. */
export function tagKey(name: string): string {
  return fold(name)
    .replace(/[\s\p{Cc}]+/gv, ' ')
    .replace(/^[# ]+| $/g, '');
}

/** Words that can be corrected: four letters and digits or more, in a script with spaces. */
export function isCorrectable(word: string): boolean {
  return CORRECTABLE.test(word);
}

/** A fixed locale: without one, the count would depend on the machine's. */
const SEGMENTER = new Intl.Segmenter('en', { granularity: 'word' });
/** What SEGMENTER calls words in ASCII text, ten times as fast. */
const ASCII_WORD =
  /[a-z0-9](?:[a-z0-9_]|(?<=[a-z])[:.'](?=[a-z])|(?<=[0-9])[,;.'](?=[0-9]))*|(?<!_)__+(?!\w)/gi;

/** The words of a run, by the dictionaries of ICU. Only queries use it, because an index outlives a version of ICU. */
export function runParts(run: string): string[] {
  return Array.from(SEGMENTER.segment(run), ({ segment }) => segment);
}

/** How many words a message has (UAX 29, unspaced scripts by dictionary). Emoji are none. */
export function countWords(text: string): number {
  if (ASCII.test(text)) return text.match(ASCII_WORD)?.length ?? 0;
  let count = 0;
  for (const { isWordLike } of SEGMENTER.segment(text)) if (isWordLike) count += 1;
  return count;
}

function tokens(text: string): string[] {
  return fold(text).match(TOKEN) ?? [];
}

/** The whole word of a token. Only a dot that it begins with is left of those before letters. */
function joined(token: string): string {
  return (token.startsWith('.') ? '.' : '') + together(token.split(BOUNDARY));
}

function together(parts: string[]): string {
  return parts.map(withoutDot).join('');
}

function withoutDot(part: string): string {
  return part.startsWith('.') ? part.slice(1) : part;
}

function pairs(run: string): string[] {
  const characters = Array.from(run);
  return characters.slice(1).map((character, i) => characters[i] + character);
}

function beginning(text: string): Term {
  return { text, beginning: true };
}

function cut(word: string): string {
  if (word.length <= MAX_WORD_LENGTH) return word;
  return Array.from(word).slice(0, MAX_WORD_LENGTH).join('');
}
