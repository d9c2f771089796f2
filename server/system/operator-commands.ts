import { appendFile, readFile, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyBaseLogger } from 'fastify';
import { audit } from './audit-log.ts';

// A command runs in a process of its own, whose output is not the log of the service. So it leaves a record in the data
// folder, and the service moves the records to its log.

const RECORDS = 'operator-commands.ndjson';

/** Records that are about to be logged. Renamed an interval before, so that no command still appends to them. */
const PENDING_RECORDS = `${RECORDS}.pending`;

const LOG_INTERVAL_MS = 5_000;

/** A command that has ended. Contains no email addresses. */
export interface OperatorCommand {
  /** When it ended. */
  endedAt: string;
  command: string;
  arguments: readonly string[];
  flags: readonly string[];
  /** The user of the operating system. */
  operator: string;
  exitCode: number;
}

/** @throws the errors of the file system */
export async function recordCommand(dataDir: string, record: OperatorCommand): Promise<void> {
  const line = `${JSON.stringify(record)}\n`;
  await appendFile(join(dataDir, RECORDS), line, { mode: 0o600, flush: true });
}

/** Moves the records to the log every five seconds. After a crash, a record can be logged twice. */
export function logOperatorCommands(
  dataDir: string,
  log: FastifyBaseLogger,
  intervalMs = LOG_INTERVAL_MS,
): Disposable {
  let isFailing = false;
  const move = async () => {
    try {
      await logPending(dataDir, log);
      await rename(join(dataDir, RECORDS), join(dataDir, PENDING_RECORDS)).catch(ignoreMissing);
      isFailing = false;
    } catch (err) {
      if (!isFailing) log.error({ err }, 'operator commands cannot be moved to the log');
      isFailing = true;
    }
    timer = setTimeout(move, intervalMs).unref();
  };
  let timer = setTimeout(move, intervalMs).unref();
  return { [Symbol.dispose]: () => clearTimeout(timer) };
}

async function logPending(dataDir: string, log: FastifyBaseLogger): Promise<void> {
  const file = join(dataDir, PENDING_RECORDS);
  const text = await readFile(file, 'utf8').catch(ignoreMissing);
  if (text === undefined) return;
  for (const line of text.split('\n').filter(Boolean)) audit(log, 'command', parse(line));
  await unlink(file);
}

/** A full disk can leave an incomplete line. */
function parse(line: string): Record<string, unknown> {
  try {
    return JSON.parse(line);
  } catch {
    return { incomplete: line };
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
