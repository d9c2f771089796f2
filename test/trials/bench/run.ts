import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArguments } from '../../support/arguments.ts';
import { startServer } from '../../support/server.ts';
import { drawChart } from './chart.ts';
import { compareWithTsRank, measureGrowth } from './classes.ts';
import { compareDatabases } from './compare-databases.ts';
import { buildDatabase, cacheFolder, waitUntilIdle } from './database.ts';
import { type Effort, FULL, QUICK } from './effort.ts';
import { measureEngines } from './engines.ts';
import { measureGrowthOfWords, openEngine } from './latency.ts';
import { startLoadGenerator } from './load.ts';
import { measureImport, measureStart, watchMemory } from './operating.ts';
import { measureProfiles } from './profile.ts';
import { measureReadLimit } from './read-limit.ts';
import { startTsRank } from './references/postgres.ts';
import { measureRank } from './references/rank.ts';
import { buildEngines, ENGINES, isBuilt, versionOf } from './references/search-engines.ts';
import {
  type Figure,
  formatNumber,
  formatResults,
  formatSpaces,
  machine,
  printComparison,
  printFigures,
  type Results,
} from './report.ts';
import { measureTail, measureThroughput, measureWorkers } from './throughput.ts';
import { measureWriting } from './writing.ts';

const USAGE = `Measures the service and its references.

  npm run bench                  at a million spaces: half an hour, at the first run more
  npm run bench -- --quick       at 10,000 spaces: less than two minutes
  npm run bench -- --growth      only growth from 10,000 to a million spaces, and search during writes
  npm run bench -- --spaces N    the figures at N spaces
  npm run bench -- --limits      with the limit of public reads, which is not exceeded
                                 (off for the start, two workers and search during writes)
  npm run bench -- --postgres    only the service on PostgreSQL, against SQLite and ts_rank
  npm run bench -- --references  first builds Tantivy and Meilisearch's engine with Cargo
`;

const { values } = parseArguments(USAGE, {
  options: {
    quick: { type: 'boolean', default: false },
    growth: { type: 'boolean', default: false },
    limits: { type: 'boolean', default: false },
    postgres: { type: 'boolean', default: false },
    references: { type: 'boolean', default: false },
    spaces: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  },
});
if (values.help) {
  console.log(USAGE);
  process.exit(0);
}

const SMALL = 10_000;
const MILLION = 1_000_000;
const effort: Effort = values.quick ? QUICK : FULL;
const spaces = Number(values.spaces ?? (values.quick ? SMALL : MILLION));
if (!Number.isInteger(spaces) || spaces < SMALL) {
  console.error(`--spaces ${values.spaces} is not a whole number of ${SMALL} or more.`);
  process.exit(1);
}
/** The highest limit, so that the server counts every read and rejects none. */
const limits: Record<string, string> = values.limits
  ? { RATE_LIMITS: 'on', PUBLIC_RATE_LIMIT: '1000000000' }
  : {};
// The exit handler stops the servers. A signal does not run it without this.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));

const results: Results = {
  measuredAt: new Date().toISOString(),
  spaces,
  machine: machine(),
  versions: { node: process.version },
  figures: [],
  comparisons: [],
};
console.log(`${results.machine}, Node.js ${process.version}\n`);
if (values.references) await buildEngines();
if (values.postgres) {
  await measureDatabases();
} else {
  if (!values.growth) await measureFigures();
  if (values.growth || !values.quick) await measureGrowthAndWriting();
}
await writeResults();

async function measureFigures(): Promise<void> {
  const small = { spaces: SMALL, dataDir: await buildDatabase(SMALL) };
  const dataDir = spaces === small.spaces ? small.dataDir : await buildDatabase(spaces);
  await using generator = await startLoadGenerator();
  const add = (...figures: Figure[]) => {
    results.figures.push(...figures);
    for (const { name, value, unit } of figures) {
      console.log(`  ${name}: ${formatNumber(value)} ${unit}`);
    }
  };

  add(await measureStart(dataDir, spaces, effort));
  {
    await using server = await startServer({ DATA_DIR: dataDir, ...limits });
    await waitUntilIdle(server.child);
    using memory = watchMemory(server);
    add(...(await measureThroughput(server, spaces, generator, effort)));
    add(await measureTail(server, spaces, generator, effort));
    add(memory.stop());

    await using engine = await openEngine(dataDir);
    await using smallEngine = await openEngine(small.dataDir);
    const large = { engine, spaces };
    add(await measureGrowthOfWords(large, { ...small, engine: smallEngine }, effort));
    add(...(await measureProfiles(server, engine, generator, effort)));
    add(...(await measureRank(dataDir, engine, spaces, effort)));
    const [ids, engines] = await measureEngines(dataDir, engine, spaces, effort);
    add(...ids);
    await using postgres = await startTsRank(await cacheFolder(), spaces);
    const service = { server, engine, spaces };
    const [figure, comparison] = await compareWithTsRank(postgres, service, generator, effort);
    add(figure);
    results.comparisons.push(comparison, engines);
    results.versions.postgres = postgres.version;
    for (const name of ENGINES.filter(isBuilt)) results.versions[name] = await versionOf(name);
    await server.stop();
  }
  add(...(await measureWorkers(dataDir, spaces, generator, effort)));
  add(await measureImport(effort));
  add(measureReadLimit());

  console.log(`\nAt ${formatSpaces(spaces)} spaces, medians of ${effort.rounds} paired rounds`);
  printFigures(results.figures, spaces === MILLION);
  for (const comparison of results.comparisons) printComparison(comparison);
}

/** Measures growth up to the requested number of spaces, and search during writes. */
async function measureGrowthAndWriting(): Promise<void> {
  const sizes = [...[SMALL, 100_000].filter((size) => size < spaces), spaces];
  await using opened = new AsyncDisposableStack();
  const databases = [];
  for (const size of sizes) {
    const engine = opened.use(await openEngine(await buildDatabase(size)));
    databases.push({ engine, spaces: size });
  }
  const comparisons = await measureGrowth(databases, effort);
  comparisons.push(await measureWriting(await buildDatabase(spaces), spaces, effort));
  for (const comparison of comparisons) printComparison(comparison);
  results.comparisons.push(...comparisons);
}

async function measureDatabases(): Promise<void> {
  const { version, comparisons } = await compareDatabases(spaces, effort);
  for (const comparison of comparisons) printComparison(comparison);
  results.comparisons.push(...comparisons);
  results.versions.postgres = version;
}

/** Writes the results of a full run to the repository, and those of other runs to the cache folder. */
async function writeResults(): Promise<void> {
  const isPart = values.quick || values.limits || values.growth || values.postgres;
  const isFull = !isPart && spaces === MILLION;
  const folder = isFull ? fileURLToPath(new URL('results', import.meta.url)) : await cacheFolder();
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'bench.json'), formatResults(results));
  if (results.figures.length > 0) await writeFile(join(folder, 'bench.svg'), drawChart(results));
  console.log(`\nWritten to ${folder}`);
}
