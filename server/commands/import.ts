import { open } from 'node:fs/promises';
import { readArguments } from '../command-line/arguments.ts';
import { printable } from '../command-line/printable.ts';
import { isDatabaseFile, openDatabaseForImport } from '../database/open.ts';
import { OperatorError } from '../errors.ts';
import { type BadLine, ImportError, importRecords, MAX_BAD_LINES } from '../exchange/import.ts';
import { readLines } from '../exchange/lines.ts';
import { describeTarget, runWithConfig } from '../process/run-on-database.ts';
import { plural, quantity } from '../text/quantity.ts';

/** Erases the current line of a terminal, and moves to its beginning. */
const ERASE_LINE = '\r\u001b[K';

const { argument: file, flags } = readArguments('import');
const inputName = file === '-' ? 'Standard input' : file;

// Without a listener, a closed pipe would end the process.
process.stderr.on('error', () => {});

await runWithConfig(async (config) => {
  const input =
    file === '-' ? process.stdin : (await open(file).catch(throwReadError)).createReadStream();
  await using engine = await openDatabaseForImport(config);
  const startedAt = performance.now();
  let skipped = 0;
  let showsProgress = process.stderr.isTTY;
  const eraseProgress = () => {
    if (showsProgress) process.stderr.write(ERASE_LINE);
  };
  try {
    const report = await importRecords(engine, readLines(readInput(input)), {
      skipBad: flags.includes('skip-bad'),
      onlyNew: flags.includes('only-new'),
      onSkip: (lines) => {
        skipped += lines.length;
        eraseProgress();
        return listBadLines(lines);
      },
      onLine: (count) => {
        if (showsProgress) process.stderr.write(`\r${quantity(count, 'line')}`);
      },
    }).finally(() => {
      eraseProgress();
      // A failed import may still be reading lines.
      showsProgress = false;
    });
    const seconds = (performance.now() - startedAt) / 1000;
    console.log(
      [
        `${report.added} ${plural(report.added, 'record')} added`,
        `${report.unchanged} ${plural(report.unchanged, 'was', 'were')} there already`,
        `${skipped} bad ${plural(skipped, 'line')} skipped`,
        `in ${seconds.toFixed(1)} s. ${describeTarget(config)}`,
      ].join(', '),
    );
  } catch (error) {
    if (!(error instanceof ImportError)) throw error;
    const { bad } = error.report;
    await listBadLines(bad);
    const more =
      bad.length === MAX_BAD_LINES
        ? ` The import stopped after ${MAX_BAD_LINES} bad lines, so there may be more.`
        : '';
    throw new OperatorError(
      `Nothing was imported.${more} Correct these lines, or skip them with --skip-bad.`,
    );
  }
});

/**
 * Yields the input in chunks.
 * @throws OperatorError if it is a backup or cannot be read
 */
async function* readInput(input: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  let isFirst = true;
  for await (const chunk of namingInput(input)) {
    if (isFirst && isDatabaseFile(chunk)) {
      throw new OperatorError(
        `${inputName} is a backup or another database file, not an export. To restore a backup, see "Restore" in docs/operating.md.`,
      );
    }
    isFirst = false;
    yield chunk;
  }
}

/** Names the input in errors of reading it. An unreachable database causes similar errors. */
async function* namingInput(input: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  try {
    yield* input;
  } catch (error) {
    throwReadError(error);
  }
}

function throwReadError(error: unknown): never {
  const { message } = error as Error;
  throw new OperatorError(`${inputName} cannot be read. ${message}`, { cause: error });
}

/** Waits until the lines are written, because millions of them would fill the memory. Ignores a closed pipe. */
function listBadLines(lines: readonly BadLine[]): Promise<void> {
  const text = lines.map(({ line, reason }) => `line ${line}: ${printable(reason)}\n`).join('');
  return new Promise((resolve) => process.stderr.write(text, () => resolve()));
}
