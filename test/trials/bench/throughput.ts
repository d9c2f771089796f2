import { type Server, startServer } from '../../support/server.ts';
import { median, quantile, rangeOf } from '../../support/statistics.ts';
import { alternate } from './alternate.ts';
import { copyData } from './database.ts';
import type { Effort } from './effort.ts';
import { countPaths, distribute, type LoadGenerator, type LoadResult } from './load.ts';
import {
  newQueries,
  repeatedClass,
  repeatedQueries,
  repeatedTags,
  respellQuery,
  respellTag,
  searchPath,
  tagPath,
} from './queries.ts';
import { type CachedResponse, startConstantRoute } from './references/constant.ts';
import { type Figure, formatNumber } from './report.ts';

const CONNECTIONS = 10;

/** Number of responses of each workload that the constant route returns. */
const SAMPLE_SIZE = 300;

/** The response headers of searches that depend on the query. */
const QUERY_HEADERS = ['link', 'answered-query'];

/** Length of the lists that connections repeat, in total: several requests for each of the popular queries. */
const REPEATED_REQUESTS = 20_000;

interface Workload {
  name: string;
  /** Returns the paths of the next requests. */
  next: (count: number) => string[];
  isUnique: boolean;
  /** Target: minimum percentage of the constant route's requests per second. */
  minPercent?: number;
}

function workloads(spaces: number): Workload[] {
  return [
    {
      name: 'repeated queries',
      next: pathsOf(repeatedQueries(spaces), searchPath),
      isUnique: false,
      minPercent: 60,
    },
    {
      name: 'unique queries',
      next: pathsOf(newQueries(spaces), searchPath),
      isUnique: true,
      minPercent: 20,
    },
    {
      name: 'common words, respelled',
      next: pathsOf(repeatedClass(spaces, 'common word'), (word) => searchPath(respellQuery(word))),
      isUnique: true,
      minPercent: 30,
    },
    { name: 'tags', next: pathsOf(repeatedTags(), tagPath), isUnique: false, minPercent: 50 },
    {
      name: 'tags, respelled',
      next: pathsOf(repeatedTags(), (tag) => tagPath(respellTag(tag))),
      isUnique: true,
    },
  ];
}

function pathsOf(
  queries: Generator<string, never>,
  path: (query: string) => string,
): Workload['next'] {
  return (count) => Array.from({ length: count }, () => path(queries.next().value));
}

/** Compares requests per second with those of the same application returning the same bytes from memory. */
export async function measureThroughput(
  server: Server,
  spaces: number,
  generator: LoadGenerator,
  effort: Effort,
): Promise<Figure[]> {
  const all = workloads(spaces);
  const responses: CachedResponse[] = [];
  /** The paths of the constant route for each workload. */
  const constantPaths: string[][] = [];
  for (const { next } of all) {
    const paths: string[] = [];
    for (const path of next(SAMPLE_SIZE)) {
      paths.push(`/constant/${responses.length}`);
      responses.push(await readResponse(server.url + path));
    }
    constantPaths.push(paths);
  }
  await using constant = await startConstantRoute(responses);

  const figures: Figure[] = [];
  for (const [i, { name, next, isUnique, minPercent }] of all.entries()) {
    const pairs = await alternate(
      effort.rounds,
      () => saturate(server, next(requestsOfRound(effort, isUnique)), generator, effort, !isUnique),
      () => saturate(constant, constantPaths[i] as string[], generator, effort, true),
    );
    figures.push({
      name: `${name}, against the constant route`,
      ...compareThroughput(pairs, 100),
      unit: '%',
      ...(minPercent && { target: { min: minPercent } }),
      note: generatorNote(pairs),
    });
  }
  return figures;
}

/** Compares the p99 of common words with that of rare ones, one request at a time. */
export async function measureTail(
  server: Server,
  spaces: number,
  generator: LoadGenerator,
  { rounds, warmUp, duration }: Effort,
): Promise<Figure> {
  const send = (name: 'common word' | 'rare word') => () => {
    const words = repeatedClass(spaces, name);
    const next = pathsOf(words, (word) => searchPath(respellQuery(word)));
    const paths = [next(countPaths({ warmUp, duration }, 1))];
    return generator.send({ url: server.url, paths, warmUp, duration });
  };
  const pairs = await alternate(rounds, send('common word'), send('rare word'));
  const p99 = pairs.map(([common, rare]) => ({
    common: quantile(common.latencies, 0.99),
    rare: quantile(rare.latencies, 0.99),
  }));
  const ratios = p99.map(({ common, rare }) => common / rare);
  return {
    name: 'common words, p99, against rare words',
    ours: `${formatNumber(median(p99.map(({ common }) => common)))} ms`,
    reference: `${formatNumber(median(p99.map(({ rare }) => rare)))} ms`,
    value: median(ratios),
    unit: 'x',
    spread: rangeOf(ratios),
    target: { max: 1 },
  };
}

/** Compares two workers with one, with expensive queries and with unique ones. */
export async function measureWorkers(
  dataDir: string,
  spaces: number,
  generator: LoadGenerator,
  effort: Effort,
): Promise<Figure[]> {
  // Two servers cannot share a data folder.
  await using copy = await copyData(dataDir);
  await using one = await startServer({ DATA_DIR: copy.dataDir, WORKERS: '1' });
  await using two = await startServer({ DATA_DIR: dataDir, WORKERS: '2' });
  const loads: Pick<Workload, 'name' | 'next'>[] = [
    {
      name: 'expensive queries',
      next: pathsOf(repeatedClass(spaces, 'three words that rarely meet'), (words) =>
        searchPath(respellQuery(words)),
      ),
    },
    {
      name: 'unique queries',
      next: pathsOf(newQueries(spaces, 9), searchPath),
    },
  ];
  const figures: Figure[] = [];
  for (const { name, next } of loads) {
    const send = (server: Server) => () =>
      saturate(server, next(requestsOfRound(effort, true)), generator, effort);
    const pairs = await alternate(effort.rounds, send(two), send(one));
    figures.push({
      name: `two workers against one, ${name}`,
      ...compareThroughput(pairs, 1),
      unit: 'x',
      target: { min: 1.6 },
      note: generatorNote(pairs),
    });
  }
  return figures;
}

function saturate(
  { url }: Server,
  paths: string[],
  generator: LoadGenerator,
  { warmUp, duration }: Effort,
  mayRepeat = false,
): Promise<LoadResult> {
  const lists = distribute(paths, CONNECTIONS);
  return generator.send({ url, paths: lists, mayRepeat, warmUp, duration });
}

function requestsOfRound(effort: Effort, isUnique: boolean): number {
  return isUnique ? countPaths(effort, CONNECTIONS) : REPEATED_REQUESTS;
}

/** Returns requests per second of both, and the median and spread of their ratio times a factor. */
function compareThroughput(pairs: readonly [LoadResult, LoadResult][], factor: number) {
  const ratios = pairs.map(([a, b]) => (factor * a.requestsPerSecond) / b.requestsPerSecond);
  const perSecond = (results: readonly LoadResult[]) =>
    `${formatNumber(median(results.map((each) => each.requestsPerSecond)))} req/s`;
  return {
    ours: perSecond(pairs.map(([a]) => a)),
    reference: perSecond(pairs.map(([, b]) => b)),
    value: median(ratios),
    spread: rangeOf(ratios),
  };
}

function generatorNote(pairs: readonly [LoadResult, LoadResult][]): string {
  const load = (results: readonly LoadResult[]) =>
    Math.round(100 * median(results.map(({ generatorLoad }) => generatorLoad)));
  const [ours, reference] = [load(pairs.map(([a]) => a)), load(pairs.map(([, b]) => b))];
  return `the load generator used ${ours} % of a processor, and ${reference} % with the reference`;
}

async function readResponse(url: string): Promise<CachedResponse> {
  const response = await fetch(url);
  if (response.status !== 200) throw new Error(`${url} returned ${response.status}.`);
  const headers = [...response.headers].filter(([name]) => QUERY_HEADERS.includes(name));
  return { body: await response.text(), headers: Object.fromEntries(headers) };
}
