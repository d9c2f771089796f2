import { avatarUrls } from '../../../server/avatars/store.ts';
import type { Engine } from '../../../server/database/engine.ts';
import { openDatabase } from '../../../server/database/open.ts';
import { readDictionary } from '../../../server/search/dictionary/dictionary.ts';
import { searchText, type TextPage } from '../../../server/search/text-search.ts';
import { readIndex } from '../../../server/search/view.ts';
import { median, rangeOf } from '../../support/statistics.ts';
import { alternate } from './alternate.ts';
import type { Effort } from './effort.ts';
import { makeQueries } from './queries.ts';
import { type Figure, formatNumber, formatSpaces } from './report.ts';

export const avatars = avatarUrls('http://127.0.0.1:3000/avatars');

/** Runs one query without HTTP, from its text to the results as JSON. */
export type Search = (query: string) => Promise<unknown>;
export type PageSearch = (query: string) => Promise<TextPage>;

export function createSearch(engine: Engine): PageSearch {
  const pending = readDictionary(engine.searchIndex);
  return async (query) => {
    const dictionary = await pending;
    const text = { query, asTyped: false };
    return readIndex(engine, (view) =>
      searchText({ engine, avatars }, dictionary, text, { limit: 20 }, view),
    );
  };
}

/** Opens a database in this process. A server may be using it. */
export function openEngine(dataDir: string, databaseUrl: string | null = null): Promise<Engine> {
  return openDatabase({ dataDir, databaseUrl }, { runsMaintenance: false });
}

/** Returns the milliseconds of each query. Each runs twice in sequence, and the second time counts. */
export async function timeQueries(ask: Search, queries: readonly string[]): Promise<number[]> {
  const milliseconds: number[] = [];
  for (const query of queries) {
    await ask(query);
    const before = performance.now();
    await ask(query);
    milliseconds.push(performance.now() - before);
  }
  return milliseconds;
}

/** Compares the median latency of single words in a large and a small database. */
export async function measureGrowthOfWords(
  large: { engine: Engine; spaces: number },
  small: { engine: Engine; spaces: number },
  { rounds, queries }: Effort,
): Promise<Figure> {
  const words = makeQueries(small.spaces)['any word'].slice(0, queries * 3);
  const round = (engine: Engine) => async () =>
    median(await timeQueries(createSearch(engine), words));
  // Warm-up.
  await round(large.engine)();
  await round(small.engine)();
  const pairs = await alternate(rounds, round(large.engine), round(small.engine));
  const ratios = pairs.map(([a, b]) => a / b);
  return {
    name: `single words, median, ${formatSpaces(large.spaces)} against ${formatSpaces(small.spaces)}`,
    ours: `${formatNumber(median(pairs.map(([a]) => a)))} ms`,
    reference: `${formatNumber(median(pairs.map(([, b]) => b)))} ms`,
    value: median(ratios),
    unit: 'x',
    spread: rangeOf(ratios),
    target: { max: 1.3 },
    note: 'in process, because HTTP would hide part of the growth',
  };
}
