import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { evaluate, measureCost } from './evaluation.ts';
import { QUERIES_FILE, readQueries } from './queries.ts';
import { printReport } from './report.ts';
import { importPackages, openService } from './service.ts';

const USAGE = `Measures how often a search finds what was meant, on real text.

  npm run finding -- FILE.tsv              imports the package list into a temporary folder and runs every query
  npm run finding -- FILE.tsv --data DIR   keeps the imported data in DIR, or uses DIR if it is there already
  npm run finding -- --data DIR            uses data that was imported earlier
  --queries FILE                           other queries than test/finding/queries.yaml
  --json FILE                              also writes the results as JSON
`;

const { file, data, queriesFile, json } = readArguments();
const queries = readQueries(queriesFile);
const temporary = data === undefined ? await mkdtemp(join(tmpdir(), 'space-service-finding-')) : '';
try {
  const dataDir = data ?? join(temporary, 'data');
  if (file !== undefined && !existsSync(dataDir)) await importPackages(file, dataDir);
  await using engine = await openService(dataDir);
  const outcomes = await evaluate(engine, queries);
  const blank = await measureCost(engine, ' ');
  printReport(outcomes);
  console.log(
    `\nEvery figure includes ${blank.median.toFixed(2)} ms that a blank query takes too.`,
  );
  if (json !== undefined) {
    const results = { measuredAt: new Date().toISOString(), blank, outcomes };
    await writeFile(json, `${JSON.stringify(results, null, 2)}\n`);
  }
} finally {
  if (temporary !== '') await rm(temporary, { recursive: true });
}

function readArguments() {
  try {
    const { positionals, values } = parseArgs({
      allowPositionals: true,
      options: {
        data: { type: 'string' },
        queries: { type: 'string', default: QUERIES_FILE },
        json: { type: 'string' },
      },
    });
    const [file, ...rest] = positionals;
    const isImported = values.data !== undefined && existsSync(values.data);
    if (rest.length === 0 && (file !== undefined || isImported)) {
      return { file, data: values.data, queriesFile: values.queries, json: values.json };
    }
  } catch {
    // An unknown option: the usage lists the known ones.
  }
  console.error(USAGE);
  process.exit(1);
}
