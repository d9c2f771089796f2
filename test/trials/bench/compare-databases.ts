import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Engine } from '../../../server/database/engine.ts';
import { execute, startPostgresql } from '../../support/postgresql.ts';
import { median, quantile } from '../../support/statistics.ts';
import { INCOMPARABLE } from './classes.ts';
import { measureCreation } from './creation.ts';
import { recordsOfService } from './data.ts';
import {
  buildDatabase,
  cacheFolder,
  chunksOf,
  importRecords,
  type PerDatabase,
} from './database.ts';
import type { Effort } from './effort.ts';
import { createSearch, openEngine, type PageSearch, timeQueries } from './latency.ts';
import { makeQueries, type QueryClass } from './queries.ts';
import { SETTINGS, startTsRank, type TsRank } from './references/postgres.ts';
import { type Comparison, formatNumber, formatSpaces } from './report.ts';
import { compareSizes } from './size.ts';

/** Compares the service on PostgreSQL with the service on SQLite. Also compares its searches with `ts_rank`. */
export async function compareDatabases(
  spaces: number,
  effort: Effort,
): Promise<{ version: string; comparisons: Comparison[] }> {
  const dataDir = await buildDatabase(spaces);
  await using postgresql = await importToPostgresql(spaces);
  const locations = { sqlite: { dataDir }, postgresql };
  await using reference = await startTsRank(await cacheFolder(), spaces);
  const comparisons: Comparison[] = [];
  {
    await using sqlite = await openEngine(dataDir);
    await using other = await openEngine(postgresql.dataDir, postgresql.databaseUrl);
    const engines: PerDatabase<Engine> = { sqlite, postgresql: other };
    comparisons.push(...(await compareSearches(engines, reference, spaces, effort)));
    comparisons.push(await compareSizes(engines, spaces));
  }
  comparisons.push(await measureCreation(locations, spaces, effort));
  return { version: reference.version, comparisons };
}

interface PostgresqlService extends AsyncDisposable {
  dataDir: string;
  databaseUrl: string;
}

/**
 * Imports the spaces into a PostgreSQL server of its own, next to the SQLite files and as durable as they are. Its
 * settings are those of the reference.
 */
async function importToPostgresql(spaces: number): Promise<PostgresqlService> {
  const parent = await cacheFolder();
  await using started = new AsyncDisposableStack();
  const server = started.use(
    await startPostgresql({ parent, settings: [...SETTINGS, 'fsync=on'] }),
  );
  const databaseUrl = await server.createDatabase('bench');
  const dataDir = await mkdtemp(join(parent, 'postgresql-'));
  started.defer(() => rm(dataDir, { recursive: true }));
  const { records, seconds } = await importRecords(
    { DATA_DIR: dataDir, DATABASE_URL: databaseUrl },
    recordsOfService(spaces),
  );
  console.log(`  PostgreSQL: ${formatNumber(records)} records in ${Math.round(seconds)} s`);
  // Otherwise, autovacuum does it during the measurements.
  await execute(databaseUrl, 'VACUUM ANALYZE');
  const owned = started.move();
  return { dataDir, databaseUrl, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Compares every class of query, one query at a time. Both databases must return the same pages. */
async function compareSearches(
  engines: PerDatabase<Engine>,
  reference: TsRank,
  spaces: number,
  { rounds, queries }: Effort,
): Promise<Comparison[]> {
  const searches = {
    sqlite: createSearch(engines.sqlite),
    postgresql: createSearch(engines.postgresql),
  };
  const medians: Comparison['rows'] = [];
  const tails: Comparison['rows'] = [];
  const classes = Object.entries(makeQueries(spaces)).map(
    ([name, all]) => [name, all.slice(0, queries * 3)] as const,
  );
  for (const [, asked] of classes) await assertSamePages(searches, asked);
  console.log('  both databases return the same pages');
  for (const [name, asked] of classes) {
    const [sqlite, postgresql, theirs]: [number[], number[], number[]] = [[], [], []];
    // In turns, so that a slow phase of the machine affects all.
    for (const turn of chunksOf(asked, Math.ceil(asked.length / rounds))) {
      sqlite.push(...(await timeQueries(searches.sqlite, turn)));
      postgresql.push(...(await timeQueries(searches.postgresql, turn)));
      theirs.push(...(await timeQueries(reference.search, turn)));
    }
    const note = INCOMPARABLE[name as QueryClass] ?? '';
    const row = (summarize: (milliseconds: number[]) => number, ratios: [number, number]) => ({
      name,
      values: [summarize(sqlite), summarize(postgresql), summarize(theirs), ...ratios],
      note,
    });
    medians.push(
      row(median, [median(ratiosOf(postgresql, sqlite)), median(ratiosOf(theirs, postgresql))]),
    );
    const p99 = (milliseconds: number[]) => quantile(milliseconds, 0.99);
    tails.push(row(p99, [p99(postgresql) / p99(sqlite), p99(theirs) / p99(postgresql)]));
  }
  const columns = [
    'on SQLite',
    'on PostgreSQL',
    'ts_rank',
    'PostgreSQL / SQLite',
    'ts_rank / PostgreSQL',
  ];
  const title = `Milliseconds of a search at ${formatSpaces(spaces)} spaces, in process`;
  return [
    { id: 'databases, medians', title: `${title}, medians`, columns, rows: medians },
    { id: 'databases, tails', title: `${title}, p99`, columns, rows: tails },
  ];
}

async function assertSamePages(
  { sqlite, postgresql }: PerDatabase<PageSearch>,
  queries: readonly string[],
): Promise<void> {
  for (const query of queries) {
    // Cursors differ, because they contain the revision of the index.
    const contents = async (search: PageSearch) => {
      const { items, answeredQuery } = await search(query);
      return { items, answeredQuery };
    };
    if (!isDeepStrictEqual(await contents(postgresql), await contents(sqlite))) {
      throw new Error(`The two databases return different pages for "${query}".`);
    }
  }
}

/** Returns the ratio of each query. */
function ratiosOf(some: readonly number[], others: readonly number[]): number[] {
  return some.map((milliseconds, i) => milliseconds / (others[i] as number));
}
