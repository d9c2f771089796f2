import { avatarUrls } from '../../server/avatars/store.ts';
import type { Engine } from '../../server/database/engine.ts';
import { openDatabase } from '../../server/database/open.ts';
import { readDictionary } from '../../server/search/dictionary/dictionary.ts';
import { currentVersions } from '../../server/search/revision.ts';
import { searchText } from '../../server/search/text-search.ts';
import type { Effort } from './effort.ts';
import { makeQueries } from './queries.ts';
import { type Figure, rounded } from './report.ts';
import { byTurns, median, rangeOf } from './statistics.ts';

export const avatars = avatarUrls('http://127.0.0.1:3000/avatars');

/** Answers one query without HTTP: from its text to the results as JSON. */
export type Ask = (query: string) => Promise<unknown>;

export function asking(engine: Engine): Ask {
  const pending = readDictionary(engine);
  return async (query) => {
    const [dictionary, { revision }] = [await pending, await currentVersions(engine)];
    const text = { query, asTyped: false };
    return searchText({ engine, avatars }, dictionary, text, revision, { limit: 20 });
  };
}

/** Opens a service's database in this process, next to a running server. */
export function openBeside(dataDir: string): Promise<Engine> {
  return openDatabase({ dataDir }, { runsMaintenance: false });
}

/** Returns the milliseconds of each query, asked one after the other. Each is asked once before, to warm caches. */
export async function time(ask: Ask, queries: readonly string[]): Promise<number[]> {
  const milliseconds: number[] = [];
  for (const query of queries) {
    await ask(query);
    const before = performance.now();
    await ask(query);
    milliseconds.push(performance.now() - before);
  }
  return milliseconds;
}

/** Compares the median of single words in a large database with a small one. */
export async function measureGrowthOfWords(
  large: { engine: Engine; spaces: number },
  small: { engine: Engine; spaces: number },
  { rounds, queries }: Effort,
): Promise<Figure> {
  const words = makeQueries(small.spaces)['any word'].slice(0, queries * 3);
  const round = (engine: Engine) => async () => median(await time(asking(engine), words));
  await round(large.engine)();
  await round(small.engine)();
  const pairs = await byTurns(rounds, round(large.engine), round(small.engine));
  const ratios = pairs.map(([a, b]) => a / b);
  return {
    what: `single words, median, ${amountOfSpaces(large.spaces)} against ${amountOfSpaces(small.spaces)}`,
    ours: `${rounded(median(pairs.map(([a]) => a)))} ms`,
    reference: `${rounded(median(pairs.map(([, b]) => b)))} ms`,
    value: median(ratios),
    unit: 'x',
    spread: rangeOf(ratios),
    wanted: { most: 1.3 },
    note: 'in process: HTTP would hide a part of the growth',
  };
}

export function amountOfSpaces(spaces: number): string {
  return spaces >= 1_000_000 ? `${spaces / 1_000_000}M` : `${spaces / 1_000}k`;
}
