import { type Server, startServer } from '../support/server.ts';
import type { Effort } from './effort.ts';
import { deal, type LoadGenerator, type LoadResult } from './load.ts';
import {
  newQueries,
  repeatedQueries,
  repeatedTags,
  repeatedWords,
  respelling,
  searchPath,
  tagPath,
} from './queries.ts';
import { type Answer, startConstantRoute } from './references/constant.ts';
import { type Figure, rounded } from './report.ts';
import { byTurns, median, quantile, rangeOf } from './statistics.ts';

const CONNECTIONS = 10;

/** More than any server here reaches. */
const MAX_REQUESTS_PER_SECOND = 20_000;

/** Responses of each workload that the constant route returns. */
const SAMPLE = 300;

interface Workload {
  what: string;
  /** Returns the paths of the next requests. */
  next: (count: number) => string[];
  isEverNew: boolean;
  /** Percent of the constant route's requests per second. */
  wanted?: number;
}

function workloads(spaces: number): Workload[] {
  const respelt = respelling();
  return [
    {
      what: 'repeated queries',
      next: taking(repeatedQueries(spaces), searchPath),
      isEverNew: false,
      wanted: 60,
    },
    {
      what: 'ever-new queries',
      next: taking(newQueries(spaces), searchPath),
      isEverNew: true,
      wanted: 20,
    },
    {
      what: 'common words, respelled',
      next: taking(repeatedWords(spaces, 'common word'), (word) => searchPath(respelt.query(word))),
      isEverNew: true,
      wanted: 30,
    },
    { what: 'tags', next: taking(repeatedTags(), tagPath), isEverNew: false, wanted: 50 },
    {
      what: 'tags, respelled',
      next: taking(repeatedTags(), (tag) => tagPath(respelt.tag(tag))),
      isEverNew: true,
    },
  ];
}

function taking(
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
  const answers: Answer[] = [];
  const known: string[][] = [];
  for (const { next } of all) {
    const paths: string[] = [];
    for (const path of next(SAMPLE)) {
      paths.push(`/constant/${answers.length}`);
      answers.push(await readAnswer(server.url + path));
    }
    known.push(paths);
  }
  await using constant = await startConstantRoute(answers);

  const figures: Figure[] = [];
  for (const [i, { what, next, isEverNew, wanted }] of all.entries()) {
    const pairs = await byTurns(
      effort.rounds,
      () => saturate(server, next(requestsOfRound(effort, isEverNew)), generator, effort),
      () => saturate(constant, known[i] as string[], generator, effort),
    );
    if (isEverNew) refuseRepetition(pairs.map(([ours]) => ours));
    figures.push({
      what: `${what}, against the constant route`,
      ...comparison(pairs, 100),
      unit: '%',
      ...(wanted && { wanted: { least: wanted } }),
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
  const respelt = respelling();
  const send = (name: 'common word' | 'rare word') => () => {
    const words = repeatedWords(spaces, name);
    const next = taking(words, (word) => searchPath(respelt.query(word)));
    const paths = [next(MAX_REQUESTS_PER_SECOND * (warmUp + duration))];
    return generator.send({ url: server.url, paths, warmUp, duration });
  };
  const pairs = await byTurns(rounds, send('common word'), send('rare word'));
  const p99 = pairs.map(([common, rare]) => ({
    common: quantile(common.latencies, 0.99),
    rare: quantile(rare.latencies, 0.99),
  }));
  const ratios = p99.map(({ common, rare }) => common / rare);
  return {
    what: 'common words, p99, against rare words',
    ours: `${rounded(median(p99.map(({ common }) => common)))} ms`,
    reference: `${rounded(median(p99.map(({ rare }) => rare)))} ms`,
    value: median(ratios),
    unit: 'x',
    spread: rangeOf(ratios),
    wanted: { most: 1 },
  };
}

/** Compares two workers with one, with expensive queries and with ever-new ones. */
export async function measureWorkers(
  dataDir: string,
  spaces: number,
  generator: LoadGenerator,
  effort: Effort,
): Promise<Figure[]> {
  await using one = await startServer({ DATA_DIR: dataDir, WORKERS: '1' });
  await using two = await startServer({ DATA_DIR: dataDir, WORKERS: '2' });
  const respelt = respelling();
  const loads: Omit<Workload, 'wanted'>[] = [
    {
      what: 'expensive queries',
      next: taking(repeatedWords(spaces, 'three words that rarely meet'), (words) =>
        searchPath(respelt.query(words)),
      ),
      isEverNew: true,
    },
    {
      what: 'ever-new queries',
      next: taking(newQueries(spaces, 9), searchPath),
      isEverNew: true,
    },
  ];
  const figures: Figure[] = [];
  for (const { what, next, isEverNew } of loads) {
    const send = (server: Server) => () =>
      saturate(server, next(requestsOfRound(effort, isEverNew)), generator, effort);
    const pairs = await byTurns(effort.rounds, send(two), send(one));
    figures.push({
      what: `two workers against one, ${what}`,
      ...comparison(pairs, 1),
      unit: 'x',
      wanted: { least: 1.6 },
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
): Promise<LoadResult> {
  return generator.send({ url, paths: deal(paths, CONNECTIONS), warmUp, duration });
}

function requestsOfRound({ warmUp, duration }: Effort, isEverNew: boolean): number {
  return isEverNew ? Math.ceil(MAX_REQUESTS_PER_SECOND * (warmUp + duration + 0.2)) : 20_000;
}

function refuseRepetition(results: readonly LoadResult[]): void {
  if (results.some(({ hasRepeated }) => hasRepeated)) {
    throw new Error(
      'The server was faster than new queries were generated for; raise MAX_REQUESTS_PER_SECOND.',
    );
  }
}

/** Returns requests per second of both, and the median and spread of their ratio times a factor. */
function comparison(pairs: readonly [LoadResult, LoadResult][], factor: number) {
  const ratios = pairs.map(([a, b]) => (factor * a.requestsPerSecond) / b.requestsPerSecond);
  const perSecond = (results: readonly LoadResult[]) =>
    `${rounded(median(results.map((each) => each.requestsPerSecond)))} req/s`;
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
  return `the load generator took ${ours} % of a processor, and ${reference} % against the reference`;
}

async function readAnswer(url: string): Promise<Answer> {
  const response = await fetch(url);
  if (response.status !== 200) throw new Error(`${url} answered ${response.status}.`);
  return { body: await response.text(), link: response.headers.get('link') };
}
