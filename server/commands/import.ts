import { open } from 'node:fs/promises';
import type { Terminal } from '../command-line/command.ts';
import { describeTarget, withConfig } from '../command-line/on-database.ts';
import { printable } from '../command-line/printable.ts';
import { describeProgress } from '../command-line/progress.ts';
import { isDatabaseFile, openDatabase } from '../database/open.ts';
import { OperatorError } from '../errors.ts';
import {
  type BadLine,
  countLines,
  ImportError,
  importRecords,
  MAX_BAD_LINES,
} from '../import-export/import.ts';
import { readLines } from '../import-export/lines.ts';
import { EX_DATAERR } from '../process/exit-codes.js';
import { plural, quantity } from '../text/quantity.ts';

/** Time between two lines of progress, if the output is not a terminal. */
const LOG_INTERVAL_MS = 10_000;

/** Erases the current line of a terminal, and moves to its beginning. */
const ERASE_LINE = '\r\u001b[K';

export const importFile = withConfig(async (config, { argument, flags }, terminal) => {
  const { errors, console } = terminal;
  // Without a listener, a closed pipe would end the process.
  errors.on('error', () => {});
  const file = await openInput(argument, terminal);
  await using engine = await openDatabase(config, { purpose: 'import' });
  const startedAt = performance.now();
  let skipped = 0;
  const isTerminal = errors.isTTY === true;
  let isReading = true;
  let loggedAt = startedAt;
  let width = 0;
  const showProgress = (lines: number) => {
    if (!isReading) return;
    const now = performance.now();
    const { bytes, totalBytes } = file;
    const text = describeProgress({ lines, seconds: (now - startedAt) / 1000, bytes, totalBytes });
    if (isTerminal) {
      // Overwrites a longer text.
      width = Math.max(width, text.length);
      errors.write(`\r${text.padEnd(width)}`);
    } else if (now - loggedAt >= LOG_INTERVAL_MS) {
      loggedAt = now;
      errors.write(`${text}\n`);
    }
  };
  const eraseProgress = () => {
    if (isTerminal && isReading) errors.write(ERASE_LINE);
  };
  try {
    const report = await importRecords(engine, readLines(readInput(file)), {
      skipBad: flags.includes('skip-bad'),
      onlyNew: flags.includes('only-new'),
      onSkip: (lines) => {
        skipped += countLines(lines);
        eraseProgress();
        return listBadLines(errors, lines);
      },
      onLine: showProgress,
    }).finally(() => {
      eraseProgress();
      // A failed import may still be reading lines.
      isReading = false;
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
    return skipped > 0 ? EX_DATAERR : 0;
  } catch (error) {
    if (!(error instanceof ImportError)) throw error;
    const { bad } = error.report;
    await listBadLines(errors, bad);
    const more =
      bad.length === MAX_BAD_LINES
        ? ` The import stopped after ${MAX_BAD_LINES} bad lines, so there may be more.`
        : '';
    throw new OperatorError(
      `Nothing was imported.${more} Correct these lines, or skip them with --skip-bad.`,
    );
  }
});

/** The input of an import, with its name for messages. */
interface Input {
  name: string;
  /** Number of bytes read so far. */
  bytes: number;
  /** Undefined for a pipe. */
  totalBytes?: number;
  chunks: AsyncIterable<string | Buffer>;
}

async function openInput(file: string, terminal: Terminal): Promise<Input> {
  if (file === '-') return { name: 'Standard input', bytes: 0, chunks: terminal.input };
  const handle = await open(file).catch((error) => throwReadError(file, error));
  const stats = await handle.stat();
  return {
    name: file,
    bytes: 0,
    ...(stats.isFile() && { totalBytes: stats.size }),
    chunks: handle.createReadStream(),
  };
}

/**
 * Yields the input in chunks.
 * @throws OperatorError if it is a backup or cannot be read
 */
async function* readInput(input: Input): AsyncGenerator<Buffer, void> {
  let isFirst = true;
  for await (const chunk of namingInput(input)) {
    if (isFirst && isDatabaseFile(chunk)) {
      throw new OperatorError(
        `${input.name} is a backup or another database file, not an export. To restore a backup, see "Restore" in docs/operating.md.`,
      );
    }
    isFirst = false;
    input.bytes += chunk.length;
    yield chunk;
  }
}

/** Names the input in errors of reading it. An unreachable database causes similar errors. */
async function* namingInput({ name, chunks }: Input): AsyncGenerator<Buffer, void> {
  try {
    // No encoding is set, so the chunks are buffers.
    yield* chunks as AsyncIterable<Buffer>;
  } catch (error) {
    throwReadError(name, error);
  }
}

function throwReadError(name: string, error: unknown): never {
  const { message } = error as Error;
  throw new OperatorError(`${name} cannot be read. ${message}`, { cause: error });
}

function describe({ line, reason, others = 0 }: BadLine): string {
  const more =
    others === 0 ? '' : `, as ${others === 1 ? 'does' : 'do'} ${quantity(others, 'later line')}`;
  return `line ${line}: ${printable(reason)}${more}`;
}

/** Waits until the lines are written, because millions of them would fill the memory. Ignores a closed pipe. */
function listBadLines(errors: Terminal['errors'], lines: readonly BadLine[]): Promise<void> {
  const text = lines.map((each) => `${describe(each)}\n`).join('');
  return new Promise((resolve) => errors.write(text, () => resolve()));
}
