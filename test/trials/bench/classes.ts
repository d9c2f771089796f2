import type { Engine } from '../../../server/database/engine.ts';
import { searchTag } from '../../../server/search/tag-search.ts';
import { readIndex } from '../../../server/search/view.ts';
import type { Server } from '../../support/server.ts';
import { median, quantile } from '../../support/statistics.ts';
import type { Effort } from './effort.ts';
import { avatars, createSearch, type Search, timeQueries } from './latency.ts';
import { countPaths, type LoadGenerator } from './load.ts';
import { biggestTags, makeQueries, type QueryClass, respellQuery, searchPath } from './queries.ts';
import type { TsRank } from './references/postgres.ts';
import { type Comparison, type Figure, formatNumber, formatSpaces } from './report.ts';

/** Classes for which the `ts_rank` reference finds fewer results, with the reason. */
export const INCOMPARABLE: { [Name in QueryClass]?: string } = {
  'other scripts': 'ts_rank finds parts of a run without spaces only at its beginning',
  'typing error': 'ts_rank does not correct typing errors',
  'typing error among words': 'ts_rank does not correct typing errors',
};

/** Compares every class of query with PostgreSQL's `ts_rank` on the same rows, one query at a time. */
export async function compareWithTsRank(
  postgres: TsRank,
  { server, engine, spaces }: { server: Server; engine: Engine; spaces: number },
  generator: LoadGenerator,
  effort: Effort,
): Promise<[Figure, Comparison]> {
  const rows: Comparison['rows'] = [];
  for (const [name, all] of Object.entries(makeQueries(spaces))) {
    const queries = all.slice(0, effort.queries);
    const theirs = await timeQueries(postgres.search, queries);
    const ours = await timeQueries(createSearch(engine), queries);
    const path = (i: number) => searchPath(respellQuery(queries[i % queries.length] as string));
    const [warmUp, duration] = [effort.warmUp, effort.duration / 4];
    const length = countPaths({ warmUp, duration }, 1);
    const paths = [Array.from({ length }, (_, i) => path(i))];
    const http = await generator.send({ url: server.url, paths, warmUp, duration });
    const ratios = ours.map((milliseconds, i) => (theirs[i] as number) / milliseconds);
    const values = [median(ours), median(http.latencies), median(theirs), median(ratios)];
    const note = INCOMPARABLE[name as QueryClass] ?? '';
    rows.push({ name, values, note });
  }
  const comparable = rows.filter(({ note }) => !note);
  const leadOf = ({ values }: Comparison['rows'][number]) => values.at(-1) as number;
  const closest = comparable.reduce((a, b) => (leadOf(a) < leadOf(b) ? a : b));
  const [ours, , theirs, value] = closest.values as [number, number, number, number];
  return [
    {
      name: 'the class with the least lead over PostgreSQL ts_rank',
      ours: `${formatNumber(ours)} ms`,
      reference: `${formatNumber(theirs)} ms`,
      value,
      unit: 'x',
      target: { min: 1 },
      note: `${closest.name}; in one process: PostgreSQL through a socket, ours directly`,
    },
    {
      id: 'postgres',
      title: `Milliseconds at ${formatSpaces(spaces)} spaces, medians, PostgreSQL ${postgres.version}`,
      columns: ['in process', 'over HTTP', 'ts_rank', 'ts_rank / in process'],
      rows,
    },
  ];
}

/** Maximum ratio of the time at the largest size to the time at the smallest size that counts as flat. */
const MAX_FLAT_GROWTH = 1.3;

/** Compares every class of query at several sizes of the service. */
export async function measureGrowth(
  databases: readonly { engine: Engine; spaces: number }[],
  { queries }: Effort,
): Promise<Comparison[]> {
  const medians = new Map<string, number[]>();
  const tails = new Map<string, number[]>();
  for (const { engine, spaces } of databases) {
    const tag: Search = (name) =>
      readIndex(engine, (view) => searchTag({ avatars }, name, { limit: 20 }, view));
    const classes = Object.entries(makeQueries(spaces)).map(
      ([name, all]) => [name, createSearch(engine), all.slice(0, queries)] as const,
    );
    for (const [name, ask, asked] of [...classes, ['tag', tag, biggestTags] as const]) {
      const milliseconds: number[] = [];
      for (let i = 0; i < 3; i += 1) milliseconds.push(...(await timeQueries(ask, asked)));
      medians.set(name, [...(medians.get(name) ?? []), median(milliseconds)]);
      tails.set(name, [...(tails.get(name) ?? []), quantile(milliseconds, 0.99)]);
    }
  }
  const columns = databases.map(({ spaces }) => formatSpaces(spaces));
  const table = (id: Comparison['id'], title: string, measured: Map<string, number[]>) => ({
    id,
    title,
    columns: [...columns, 'growth'],
    rows: [...measured].map(([name, values]) => {
      const growth = (values.at(-1) as number) / (values[0] as number);
      return {
        name,
        values: [...values, growth],
        note: growth > MAX_FLAT_GROWTH ? 'not flat' : '',
      };
    }),
  });
  return [
    table('growth of medians', 'Milliseconds in process, medians', medians),
    table('growth of tails', 'Milliseconds in process, p99', tails),
  ];
}
