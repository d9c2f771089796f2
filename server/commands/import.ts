import { open } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { readArguments } from '../command-line.ts';
import { configFromEnvironment } from '../config.ts';
import { explainDatabaseError, openDatabaseForImport } from '../database/open.ts';
import { OperatorError } from '../errors.ts';
import { ImportError, type ImportReport, importRecords } from '../exchange/import.ts';
import { runProgram } from '../process/program.ts';

const { argument: file, flags } = readArguments('import');

await runProgram(async () => {
  const input = file === '-' ? process.stdin : (await open(file)).createReadStream();
  const config = configFromEnvironment();
  await using engine = await openDatabaseForImport(config);
  const startedAt = performance.now();
  try {
    const report = await importRecords(engine, linesOf(input), {
      skipBad: flags.includes('skip-bad'),
      onLine: (count) => {
        if (process.stderr.isTTY) process.stderr.write(`\r${count.toLocaleString('en')} lines`);
      },
    });
    const seconds = (performance.now() - startedAt) / 1000;
    if (process.stderr.isTTY) process.stderr.write('\r');
    listBadLines(report);
    console.log(
      `${report.added} records added, ${report.unchanged} were there already, ${report.bad.length} bad lines skipped, in ${seconds.toFixed(1)} s.`,
    );
  } catch (error) {
    if (!(error instanceof ImportError)) throw await explainDatabaseError(config, error);
    listBadLines(error.report);
    throw new OperatorError(
      'Nothing was imported. Correct these lines, or skip them with --skip-bad.',
    );
  }
});

/** Creates the reader only when the first line is requested, because lines that it reads earlier would be lost. */
async function* linesOf(input: NodeJS.ReadableStream): AsyncIterable<string> {
  yield* createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
}

function listBadLines({ bad }: ImportReport): void {
  for (const { line, reason } of bad) console.error(`line ${line}: ${reason}`);
}
