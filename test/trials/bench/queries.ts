import { drawTag, tags, textOf } from './data.ts';
import { type Random, seededRandom, zipf } from './random.ts';
import { rangeOfPrefix } from './sorted-words.ts';
import { mistype } from './vocabulary.ts';

/** The name of a class of text queries. */
export type QueryClass = keyof ReturnType<typeof drawQueries>;
export type Queries = Record<QueryClass, string[]>;

const cachedQueries = new Map<number, Queries>();

/** Returns the queries of each class, in the order to run them. Reads all texts once per number of spaces. */
export function makeQueries(spaces: number): Queries {
  const queries = cachedQueries.get(spaces) ?? drawQueries(spaces);
  cachedQueries.set(spaces, queries);
  return queries;
}

function drawQueries(spaces: number) {
  const draw = seededRandom(4);
  const census = countWords(spaces);
  const common = census.mostFrequent(30);
  const anyWord = () => drawWord(draw, spaces);
  return {
    /** The 30 most frequent words: each in 2 to 35 % of the spaces. */
    'common word': common,
    /** Prefixes in 40 to 120 spaces, so that the first page is full, as for common words. */
    'rare word': shuffled(draw, census.prefixesIn(40, 120)).slice(0, 300),
    /** With the frequency of words in texts. */
    'any word': distinct(300, anyWord),
    'one letter': distinct(26, () => wordOfMinLength(draw, spaces, 2).slice(0, 1)),
    'two letters': distinct(100, () => wordOfMinLength(draw, spaces, 3).slice(0, 2)),
    'five letters': distinct(300, () => wordOfMinLength(draw, spaces, 7).slice(0, 5)),
    'second word being typed': distinct(300, () => beingTyped(draw, spaces)),
    'joined word': distinct(300, () => tokenOfSpace(draw, spaces, JOINED)),
    'other scripts': distinct(300, () => tokenOfSpace(draw, spaces, OTHER_SCRIPT)),
    'two words': distinct(300, () => wordsOfSpace(draw, spaces, 2)),
    'two common words': distinct(300, () => shuffled(draw, common).slice(0, 2).join(' ')),
    'three common words': distinct(300, () => shuffled(draw, common).slice(0, 3).join(' ')),
    /** Each is a prefix in 0.5 to 2 % of the spaces, but almost no space has all three: whole lists must be read. */
    'three words that rarely meet': (() => {
      const list = census.prefixesIn(spaces * 0.005, spaces * 0.02);
      return distinct(300, () => shuffled(draw, list).slice(0, 3).join(' '));
    })(),
    'no match': distinct(300, () => gibberish(draw)),
    'typing error': distinct(300, () => census.mistypedWord(draw, anyWord)),
    'typing error among words': distinct(300, () => {
      const words = wordsOfSpace(draw, spaces, 2);
      return `${words} ${census.mistypedWord(draw, anyWord)}`;
    }),
  };
}

/** Yields unique queries as people type them, incomplete and complete ones. */
export function* newQueries(spaces: number, seed = 5): Generator<string, never> {
  const draw = seededRandom(seed);
  const asked = new Set<string>();
  while (true) {
    const query = drawQuery(draw, spaces);
    if (asked.has(query)) continue;
    asked.add(query);
    yield query;
  }
}

function drawQuery(draw: Random, spaces: number): string {
  const kind = draw();
  if (kind < 0.25) return beginningOf(draw, wordOfMinLength(draw, spaces, 3));
  if (kind < 0.6) return wordsOfSpace(draw, spaces, 2);
  if (kind < 0.75) return wordsOfSpace(draw, spaces, 3);
  if (kind < 0.85) return beingTyped(draw, spaces);
  if (kind < 0.9) return tokenOfSpace(draw, spaces, JOINED);
  if (kind < 0.95) return `${drawWord(draw, spaces)} ${drawWord(draw, spaces)}`;
  return mistype(draw, wordOfMinLength(draw, spaces, 6));
}

/** Yields 3,000 queries repeatedly, drawn from a Zipf distribution. Never ends. */
export function* repeatedQueries(spaces: number): Generator<string, never> {
  const queries = newQueries(spaces, 6);
  const popular = Array.from({ length: 3_000 }, () => queries.next().value);
  const drawRank = zipf(popular.length, 1);
  const draw = seededRandom(7);
  while (true) yield popular[drawRank(draw())] as string;
}

/** Yields the queries of a class repeatedly. Never ends. */
export function* repeatedClass(spaces: number, name: QueryClass): Generator<string, never> {
  const queries = makeQueries(spaces)[name];
  while (true) yield* queries;
}

/** Yields tags, popular ones more often. Never ends. */
export function* repeatedTags(): Generator<string, never> {
  const draw = seededRandom(8);
  while (true) yield drawTag(draw);
}

/** One count for all measurements of a run, because some share a server. */
let respelled = 0;

/** Writes a query differently each time without changing its meaning, so that no server has the response cached. */
export function respellQuery(text: string): string {
  // These characters are not parts of words and need no percent-encoding.
  return `${text} ${nextNumber('!~*(')}`;
}

/** The same as `respellQuery` for the name of a tag. */
export function respellTag(name: string): string {
  return `${nextNumber('# ')}#${name}`;
}

/** @param digits the characters to write the number with */
function nextNumber(digits: string): string {
  respelled += 1;
  return [...respelled.toString(digits.length)].map((digit) => digits[Number(digit)]).join('');
}

export const biggestTags = tags.slice(0, 10);

export function searchPath(query: string): string {
  return `/api/spaces/search?q=${encodeURIComponent(query)}`;
}

export function tagPath(tag: string): string {
  return `/api/spaces/tag/${encodeURIComponent(tag)}`;
}

/** Counts the spaces with each word. */
function countWords(spaces: number) {
  const counts = new Map<string, number>();
  for (let i = 0; i < spaces; i += 1) {
    for (const word of wordsOf(i)) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  const sorted = [...counts.keys()].sort();
  const sums = new Float64Array(sorted.length + 1);
  for (const [i, word] of sorted.entries()) {
    sums[i + 1] = (sums[i] as number) + (counts.get(word) as number);
  }
  /** Returns the number of spaces with this prefix. Counts a space twice if it has two such words. */
  const countSpacesWithPrefix = (prefix: string) => {
    const [from, to] = rangeOfPrefix(sorted, prefix);
    return (sums[to] as number) - (sums[from] as number);
  };
  return {
    mostFrequent: (count: number) =>
      [...counts]
        .sort((a, b) => b[1] - a[1])
        .slice(0, count)
        .map(([word]) => word),
    /**
     * Returns words of four Latin letters or more that are prefixes in `least` to `most` spaces, and whole words in at
     * least `least / 2`.
     */
    prefixesIn: (least: number, most: number) =>
      sorted.filter((word) => {
        if ((counts.get(word) as number) < least / 2 || !/^[a-z]{4,}$/.test(word)) return false;
        const count = countSpacesWithPrefix(word);
        return count >= least && count <= most;
      }),
    /** Draws a word of several spaces and makes one edit, so that it is not a prefix of any word. */
    mistypedWord: (draw: Random, anyWord: () => string) => {
      for (;;) {
        const word = anyWord();
        if (word.length < 6 || (counts.get(word) ?? 0) < 5) continue;
        const wrong = mistype(draw, word);
        if (countSpacesWithPrefix(wrong) === 0) return wrong;
      }
    },
  };
}

/** Returns the distinct words of a space. Joined words are split. */
function wordsOf(space: number): string[] {
  const { title, description } = textOf(space);
  return [...new Set(`${title} ${description}`.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu))];
}

function drawWord(draw: Random, spaces: number): string {
  return wordsOfSpace(draw, spaces, 1);
}

function wordOfMinLength(draw: Random, spaces: number, minLength: number): string {
  for (;;) {
    const word = drawWord(draw, spaces);
    if (word.length >= minLength) return word;
  }
}

function wordsOfSpace(draw: Random, spaces: number, count: number): string {
  for (;;) {
    const words = wordsOf(Math.floor(draw() * spaces));
    if (words.length >= count) return shuffled(draw, words).slice(0, count).join(' ');
  }
}

const JOINED = /\p{L}+(?:[-._/]\p{L}+)+/gu;
/** Two to four characters from a run of another script than Latin. */
const OTHER_SCRIPT = /[[\p{L}\p{M}]--\p{sc=Latn}]{2,4}/gv;

/** Draws a match of the pattern from the texts. */
function tokenOfSpace(draw: Random, spaces: number, pattern: RegExp): string {
  for (;;) {
    const { title, description } = textOf(Math.floor(draw() * spaces));
    const found = `${title} ${description}`.match(pattern);
    if (found) return found[Math.floor(draw() * found.length)] as string;
  }
}

/** Draws a word and the first letters of another word of the same space. */
function beingTyped(draw: Random, spaces: number): string {
  const [first = '', second = ''] = wordsOfSpace(draw, spaces, 2).split(' ');
  return `${first} ${second.slice(0, 1 + Math.floor(draw() * 3))}`;
}

function beginningOf(draw: Random, word: string): string {
  return word.slice(0, 2 + Math.floor(draw() * (word.length - 1)));
}

function gibberish(draw: Random): string {
  return Array.from({ length: 10 }, () => 'qxzjwv'[Math.floor(draw() * 6)]).join('');
}

function distinct(count: number, make: () => string): string[] {
  const found = new Set<string>();
  for (let i = 0; i < count * 20 && found.size < count; i += 1) found.add(make());
  return [...found];
}

function shuffled<T>(draw: Random, list: readonly T[]): T[] {
  const copy = [...list];
  for (let i = copy.length - 1; i > 0; i -= 1) {
    const j = Math.floor(draw() * (i + 1));
    [copy[i], copy[j]] = [copy[j] as T, copy[i] as T];
  }
  return copy;
}
