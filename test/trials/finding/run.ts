import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArguments } from '../../support/arguments.ts';
import { evaluate, measureCost } from './evaluation.ts';
import { explain } from './explain.ts';
import { HALVES, QUERIES_FILE, readQueries } from './queries.ts';
import { printReport } from './report.ts';
import { importPackages, openService } from './service.ts';

const USAGE = `Measures how often a search finds an acceptable answer, on real text.

  npm run finding -- FILE.tsv              imports the package list into a temporary folder and runs every query
  npm run finding -- FILE.tsv --data DIR   keeps the imported data in DIR, or uses DIR if it exists
  npm run finding -- --data DIR            uses previously imported data
  --half tune                              runs the queries of one half, tune or judge
  --queries FILE                           runs other queries than test/trials/finding/queries.yaml
  --explain "QUERY"                        prints how the service understands a query, with the results of each meaning
  --json FILE                              also writes the results as JSON
`;

const { positionals, values } = parseArguments(USAGE, {
  allowPositionals: true,
  options: {
    data: { type: 'string' },
    half: { type: 'string' },
    queries: { type: 'string', default: QUERIES_FILE },
    explain: { type: 'string' },
    json: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  },
});
if (values.help) {
  console.log(USAGE);
  process.exit(0);
}
const [file, ...rest] = positionals;
const { data, json } = values;
const source = file ?? data;
if (source === undefined || rest.length > 0) {
  console.error(USAGE);
  process.exit(1);
}
if (!existsSync(source)) {
  console.error(`${source} does not exist.`);
  process.exit(1);
}
const half = HALVES.find((each) => each === values.half);
if (values.half !== half) {
  console.error(`--half ${values.half} is not one of ${HALVES}.`);
  process.exit(1);
}

const queries = readQueries(values.queries).filter((query) => !half || query.half === half);
const temporary = data === undefined ? await mkdtemp(join(tmpdir(), 'space-service-finding-')) : '';
try {
  const dataDir = data ?? join(temporary, 'data');
  if (file !== undefined && !existsSync(dataDir)) await importPackages(file, dataDir);
  if (values.explain === undefined) await measure(dataDir);
  else await explain(dataDir, values.explain);
} finally {
  if (temporary !== '') await rm(temporary, { recursive: true });
}

async function measure(dataDir: string): Promise<void> {
  await using engine = await openService(dataDir);
  const outcomes = await evaluate(engine, queries);
  const blank = await measureCost(engine, ' ');
  printReport(outcomes);
  console.log(`\nEvery figure includes ${blank.median.toFixed(2)} ms, the cost of a blank query.`);
  if (json !== undefined) {
    const results = { measuredAt: new Date().toISOString(), blank, outcomes };
    await writeFile(json, `${JSON.stringify(results, null, 2)}\n`);
  }
}
