import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { readConfigOrExit } from '../config.ts';
import { openDatabase } from '../database/open.ts';
import { ImportRefused, type ImportReport, importRecords } from '../exchange/import.ts';

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { 'skip-bad': { type: 'boolean', default: false } },
});
const [file] = positionals;
if (file === undefined || positionals.length > 1) {
  console.error('Usage: npm run import -- FILE.ndjson [--skip-bad]   (- reads standard input)');
  process.exit(1);
}

await using engine = await openDatabase(readConfigOrExit());
const lines = createInterface({
  input: file === '-' ? process.stdin : createReadStream(file),
  crlfDelay: Number.POSITIVE_INFINITY,
});
const startedAt = performance.now();
try {
  const report = await importRecords(engine, lines, {
    skipBad: values['skip-bad'],
    onLine: (count) => {
      if (process.stderr.isTTY) process.stderr.write(`\r${count.toLocaleString('en')} lines`);
    },
  });
  const seconds = (performance.now() - startedAt) / 1000;
  if (process.stderr.isTTY) process.stderr.write('\r');
  listBadLines(report);
  console.log(
    `${report.added} records added, ${report.unchanged} were there already, ${report.bad.length} bad lines left out, in ${seconds.toFixed(1)} s.`,
  );
} catch (error) {
  if (!(error instanceof ImportRefused)) throw error;
  listBadLines(error.report);
  console.error('Nothing was imported. Correct these lines, or leave them out with --skip-bad.');
  process.exitCode = 1;
}

function listBadLines({ bad }: ImportReport): void {
  for (const { line, reason } of bad) console.error(`line ${line}: ${reason}`);
}
