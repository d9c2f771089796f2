import type { Engine } from '../../../server/database/engine.ts';
import { median } from '../../support/statistics.ts';
import type { Effort } from './effort.ts';
import { patternOf, readKeys } from './keys.ts';
import { createSearch, timeQueries } from './latency.ts';
import { makeQueries, type QueryClass } from './queries.ts';
import { openRanked } from './references/rank.ts';
import { ENGINES, isBuilt, type SearchEngine, startEngine } from './references/search-engines.ts';
import { type Comparison, type Figure, formatNumber, formatSpaces } from './report.ts';

interface Column {
  name: string;
  /** Returns the milliseconds of each query. Each runs twice, and the second time counts. */
  time: (queries: readonly string[]) => Promise<number[]>;
}

const IDS = 'ids only';
const TANTIVY = 'Tantivy by popularity, indexed prefix';
const SORTED_TANTIVY = 'Tantivy sorted, indexed prefix';

/** Maximum ratio to the time of Tantivy, which also looks up each word as an indexed prefix, and sorts by popularity. */
const MAX_RATIOS: readonly [QueryClass, number][] = [
  ['any word', 2],
  ['two words', 2],
  ['three common words', 4],
  ['three words that rarely meet', 4],
];

/** Compares every class of query with other search engines on the same rows, without HTTP, one query at a time. */
export async function measureEngines(
  dataDir: string,
  engine: Engine,
  spaces: number,
  { queries }: Effort,
): Promise<[Figure[], Comparison]> {
  for (const name of ENGINES.filter((each) => !isBuilt(each))) {
    console.log(`  skipped: ${name} is not built (npm run bench -- --references builds it)`);
  }
  await using opened = new AsyncDisposableStack();
  const ranked = opened.use(await openRanked(dataDir));
  const columns: Column[] = [
    { name: 'whole page', time: (list) => timeQueries(createSearch(engine), list) },
    { name: IDS, time: (list) => timeQueries((query) => readKeys(engine, patternOf(query)), list) },
    {
      name: 'ORDER BY rank',
      time: (list) => timeQueries(async (query) => ranked.search(query), list),
    },
  ];
  if (isBuilt('tantivy')) {
    const tantivy = opened.use(await startEngine('tantivy', spaces));
    columns.push(
      column(TANTIVY, tantivy, { words: 'indexedPrefix', order: 'popularity' }),
      column('Tantivy sorted, exact words', tantivy, { words: 'exact', order: 'document' }),
      column('Tantivy sorted, prefix', tantivy, { words: 'prefix', order: 'document' }),
      column(SORTED_TANTIVY, tantivy, { words: 'indexedPrefix', order: 'document' }),
    );
  }
  const classes = Object.entries(makeQueries(spaces)).map(
    ([name, list]) => [name, list.slice(0, queries)] as const,
  );
  const rows: Comparison['rows'] = classes.map(([name]) => ({ name, values: [] }));
  const measure = async (each: Column) => {
    for (const [i, [, list]] of classes.entries()) {
      rows[i]?.values.push(median(await each.time(list)));
    }
  };
  for (const each of columns) await measure(each);
  // One after the other, because both use the same index, which stores the rules.
  for (const rules of isBuilt('milli') ? ['default', 'popularity'] : []) {
    await using milli = await startEngine('milli', spaces, rules);
    const each = column(`Meilisearch, ${rules} rules`, milli);
    await measure(each);
    columns.push(each);
  }
  const comparison: Comparison = {
    id: 'engines',
    title: `Milliseconds at ${formatSpaces(spaces)} spaces, medians, in process; all but the first column return ids`,
    columns: columns.map(({ name }) => name),
    rows,
  };
  return [figuresOf(comparison), comparison];
}

function column(name: string, engine: SearchEngine, options?: object): Column {
  return {
    name,
    async time(queries) {
      const milliseconds: number[] = [];
      for (const query of queries) {
        await engine.search(query, options);
        milliseconds.push((await engine.search(query, options)).ms);
      }
      return milliseconds;
    },
  };
}

function figuresOf({ columns, rows }: Comparison): Figure[] {
  if (!columns.includes(TANTIVY)) return [];
  return MAX_RATIOS.flatMap(([name, maxRatio]) => {
    const values = rows.find((row) => row.name === name)?.values ?? [];
    const timeOf = (column: string) => values[columns.indexOf(column)] ?? Number.NaN;
    const compare = (column: string): Omit<Figure, 'name'> => ({
      ours: `${formatNumber(1000 * timeOf(IDS))} µs`,
      reference: `${formatNumber(1000 * timeOf(column))} µs`,
      value: timeOf(IDS) / timeOf(column),
      unit: 'x',
      note: 'medians; both look up every word as an indexed prefix',
    });
    return [
      {
        name: `ids, ${name}, against Tantivy`,
        ...compare(TANTIVY),
        target: { max: maxRatio },
      },
      { name: `ids, ${name}, against a sorted index of Tantivy`, ...compare(SORTED_TANTIVY) },
    ];
  });
}
