import {
  drawTag,
  drawWord,
  frequentWords,
  MEAN_WORDS,
  type Random,
  seededRandom,
  shareOfWord,
  spaceOf,
  tags,
  words,
  zipf,
} from './data.ts';

/** Kinds of text queries, each as its queries in the order to be asked. */
export type QueryClass = keyof ReturnType<typeof makeQueries>;

const sortedWords = [...words, ...frequentWords.map(({ word }) => word)].sort();

/** What is asked of a service with so many spaces. The same every time. */
export function makeQueries(spaces: number) {
  const draw = seededRandom(4);
  return {
    /** Each is in 10 to 40 % of the spaces. */
    'common word': frequentWords.map(({ word }) => word),
    /** Each is in about 40 to 120 spaces, so that its first page is as full as a common word's. */
    'rare word': shuffled(draw, rareWords(spaces)).slice(0, 300),
    /** As they come in texts, the frequent ones more often. */
    'any word': distinct(300, () => drawWord(draw)),
    'two letters': distinct(100, () => wordOfLength(draw, 3).slice(0, 2)),
    'five letters': distinct(300, () => wordOfLength(draw, 7).slice(0, 5)),
    'two words': distinct(300, () => wordsOfSpace(draw, spaces, 2)),
    'three common words': distinct(300, () =>
      threeOf(
        draw,
        frequentWords.map(({ word }) => word),
      ),
    ),
    /** Each is in 2 to 4 % of the spaces, all three in next to none: whole lists have to be gone through. */
    'three words that seldom meet': distinct(300, () => threeOf(draw, words.slice(0, 40))),
    'no match': distinct(300, () => gibberish(draw)),
    'typing error': distinct(300, () => misspelt(draw)),
  };
}

/** Queries of which no two are the same, as many as are asked for: what people type, on the way and to its end. */
export function* newQueries(spaces: number, seed = 5): Generator<string, never> {
  const draw = seededRandom(seed);
  const asked = new Set<string>();
  while (true) {
    const kind = draw();
    const query =
      kind < 0.25
        ? beginningOf(draw, drawWord(draw))
        : kind < 0.65
          ? wordsOfSpace(draw, spaces, 2)
          : kind < 0.8
            ? wordsOfSpace(draw, spaces, 3)
            : kind < 0.9
              ? `${drawWord(draw)} ${beginningOf(draw, frequentWord(draw))}`
              : kind < 0.95
                ? `${drawWord(draw)} ${drawWord(draw)}`
                : misspelt(draw);
    if (asked.has(query)) continue;
    asked.add(query);
    yield query;
  }
}

/** The same few thousand queries over and over, some of them much more often than others. */
export function* repeatedQueries(spaces: number): Generator<string, never> {
  const queries = newQueries(spaces, 6);
  const popular = Array.from({ length: 3_000 }, () => queries.next().value);
  const drawRank = zipf(popular.length, 1, 0);
  const draw = seededRandom(7);
  while (true) yield popular[drawRank(draw())] as string;
}

/** The queries of a class over and over. */
export function* repeatedWords(spaces: number, name: QueryClass): Generator<string, never> {
  const queries = makeQueries(spaces)[name];
  while (true) yield* queries;
}

/** The popular ones more often. */
export function* repeatedTags(): Generator<string, never> {
  const draw = seededRandom(8);
  while (true) yield drawTag(draw);
}

/**
 * Writes queries so that none is written like one before, and yet each asks the same as before: no server can have its
 * answer at hand.
 */
export function respelling(): { query: (text: string) => string; tag: (name: string) => string } {
  let spelt = 0;
  const number = (digits: string) => {
    spelt += 1;
    return [...spelt.toString(digits.length)].map((digit) => digits[Number(digit)]).join('');
  };
  return {
    // These signs are no part of words and stand in a URL as they are.
    query: (text) => `${text} ${number('!~*(')}`,
    tag: (name) => `${number('# ')}#${name}`,
  };
}

export const biggestTags = tags.slice(0, 10);

export function searchPath(query: string): string {
  return `/api/spaces/search?q=${encodeURIComponent(query)}`;
}

export function tagPath(tag: string): string {
  return `/api/spaces/tag/${encodeURIComponent(tag)}`;
}

function rareWords(spaces: number): string[] {
  return words.filter((word, rank) => {
    const expected = spaces * MEAN_WORDS * shareOfWord(rank);
    return expected > 40 && expected < 120 && !beginsAnother(word);
  });
}

function beginsAnother(beginning: string): boolean {
  let [low, high] = [0, sortedWords.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sortedWords[middle] as string) <= beginning) low = middle + 1;
    else high = middle;
  }
  return sortedWords[low]?.startsWith(beginning) ?? false;
}

function wordOfLength(draw: Random, least: number): string {
  for (;;) {
    const word = drawWord(draw);
    if (word.length >= least) return word;
  }
}

function wordsOfSpace(draw: Random, spaces: number, count: number): string {
  const { title, description } = spaceOf(Math.floor(draw() * spaces));
  const all = `${title} ${description}`.toLowerCase().split(' ');
  return shuffled(draw, [...new Set(all)])
    .slice(0, count)
    .join(' ');
}

function threeOf(draw: Random, list: readonly string[]): string {
  return shuffled(draw, list).slice(0, 3).join(' ');
}

function frequentWord(draw: Random): string {
  return (frequentWords[Math.floor(draw() * frequentWords.length)] as { word: string }).word;
}

function beginningOf(draw: Random, word: string): string {
  return word.slice(0, 2 + Math.floor(draw() * (word.length - 1)));
}

function gibberish(draw: Random): string {
  return Array.from({ length: 10 }, () => 'qxzjwv'[Math.floor(draw() * 6)]).join('');
}

/** A word with one letter changed to what makes it the beginning of no other. */
function misspelt(draw: Random): string {
  for (;;) {
    const word = wordOfLength(draw, 6);
    const at = 1 + Math.floor(draw() * (word.length - 1));
    const wrong = `${word.slice(0, at)}${'qxc'[Math.floor(draw() * 3)]}${word.slice(at + 1)}`;
    if (!beginsAnother(wrong)) return wrong;
  }
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
