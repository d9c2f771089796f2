import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { SpaceRecord } from '../../server/import-export/spaces.ts';
import { seededRandom } from '../bench/random.ts';
import { mistype } from '../bench/vocabulary.ts';
import { type RandomInteger, randomIntegers } from '../support/random.ts';
import { pick } from './records.ts';

/**
 * Separators of words, and characters with a meaning in the query languages of databases. Spaces are the most frequent.
 */
const SEPARATORS = [
  ' ',
  ' ',
  ' ',
  ' ',
  '-',
  '',
  '.',
  '/',
  '_',
  ', ',
  "'",
  '" ',
  '* ',
  ' & ',
  ' | ',
  ' OR ',
  ':',
  '%',
];
const STOP_WORDS = 'the a of for and und mit le les de la y e для и 的 の'.split(' ');
const NONSENSE = [
  'qxzvwq',
  '=',
  '#',
  '#40',
  '*',
  '*b',
  '=bread',
  '"',
  '\\',
  "';",
  '%_',
  '👩‍💻',
  '🍞',
  'ﷺ',
  '\u{10ffff}',
  '00',
];

/** Returns queries from the words of spaces: words, prefixes, typos, joined and split words, and runs of letters. */
export function fuzzedQueries(
  spaces: readonly SpaceRecord[],
  count: number,
  seed: number,
): string[] {
  const random = randomIntegers(seed);
  const queries = new Set<string>();
  while (queries.size < count) {
    const space = pick(random, spaces);
    // Words of one space are likely to match together, those of two spaces are not.
    const other = random(4) === 0 ? pick(random, spaces) : space;
    const words = Array.from({ length: 1 + random(1 + random(5)) }, (_, i) =>
      drawWord(random, i % 2 === 0 ? space : other),
    );
    const query = words.join(pick(random, SEPARATORS)).trim();
    if (query !== '') queries.add(query);
  }
  return [...queries];
}

function drawWord(random: RandomInteger, { title, description = '' }: SpaceRecord): string {
  const text = random(2) === 0 ? title : `${title} ${description}`;
  const word = pick(random, text.match(/[^\s,/-]+/g) ?? [title]);
  const letters = [...word];
  const length = 1 + random(letters.length);
  switch (random(16)) {
    case 0:
      return pick(random, STOP_WORDS);
    case 1:
      return pick(random, NONSENSE);
    case 2:
    case 3:
    case 4:
      return letters.slice(0, length).join('');
    case 5:
    case 6:
      return letters.length > 2 ? mistype(seededRandom(random(1e9)), word) : word;
    case 7:
      return `${letters.slice(0, length).join('')} ${letters.slice(length).join('')}`;
    case 8: {
      const from = random(letters.length);
      return letters.slice(from, from + 1 + random(6)).join('');
    }
    case 9:
      return word.toUpperCase();
    case 10:
      return word + pick(random, ['s', 'ing', 'er', 'es', 'ed']);
    default:
      return word;
  }
}

/** Returns tags of spaces in several spellings, and tags that no space has. */
export function fuzzedTags(spaces: readonly SpaceRecord[], count: number, seed: number): string[] {
  const random = randomIntegers(seed);
  const known = [...new Set(spaces.flatMap(({ tags = [] }) => tags))];
  return Array.from({ length: count }, () => {
    const tag = pick(random, known);
    switch (random(8)) {
      case 0:
        return `#${tag.toUpperCase()}`;
      case 1:
        return ` ${tag} `;
      case 2:
        return [...tag].slice(0, 2).join('');
      case 3:
        return pick(random, NONSENSE);
      default:
        return tag;
    }
  });
}

/**
 * Returns the queries of `test/finding/queries.yaml`, whose spaces are not in the repository, and those of
 * `test/search/example-queries`.
 */
export function handwrittenQueries(): string[] {
  const packages = read<Record<string, { query: string }[]>>('../finding/queries.yaml');
  const groups = ['queries.yaml', 'other-queries.yaml'].flatMap((file) =>
    read<{ queries: { q?: string | string[] }[] }[]>(`../search/example-queries/${file}`),
  );
  return [
    ...Object.values(packages).flatMap((queries) => queries.map(({ query }) => query)),
    ...groups.flatMap(({ queries }) => queries.flatMap(({ q = [] }) => q)),
  ];
}

export function handwrittenTags(): string[] {
  const groups = read<{ queries: { tag?: string | string[] }[] }[]>(
    '../search/example-queries/queries.yaml',
  );
  return groups.flatMap(({ queries }) => queries.flatMap(({ tag = [] }) => tag));
}

function read<T>(file: string): T {
  return parse(readFileSync(new URL(file, import.meta.url), 'utf8'));
}
