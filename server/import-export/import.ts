import { eraseBatch, eraseDeletedRows } from '../account-lifecycle/erasure.ts';
import type { DatabaseTransaction, Engine } from '../database/engine.ts';
import { transactAlone } from '../database/transaction.ts';
import { updateSearchIndex } from '../search/rebuild.ts';
import { writerOf } from '../search/writer-of.ts';
import { quantity } from '../text/quantity.ts';
import { addAppreciations } from './appreciations.ts';
import { type Batch, readBatches } from './batches.ts';
import { addBlocks } from './blocks.ts';
import { addMessages } from './messages.ts';
import { addParticipants } from './participants.ts';
import {
  type BadLine,
  type BadLineError,
  countLines,
  type ImportReport,
  type ImportRun,
  RejectedRecords,
  rejectLine,
} from './run.ts';
import { addSpaces } from './spaces.ts';
import { addUsers } from './users.ts';

export { type BadLine, countLines, type ImportReport } from './run.ts';

/** Thrown if nothing was imported because of bad lines. */
export class ImportError extends Error {
  readonly report: ImportReport;

  constructor(report: ImportReport) {
    super(`${quantity(countLines(report.bad), 'bad line')}; nothing was imported`);
    this.report = report;
  }
}

/** Without `skipBad`, an import stops after this many bad lines. */
export const MAX_BAD_LINES = 100;

export interface ImportOptions {
  /** Whether to skip bad lines instead of throwing. */
  skipBad?: boolean;
  /**
   * Whether to reject records that refer to users, spaces and messages from before the import. Otherwise, records can
   * add participants to existing spaces, and messages and appreciations of existing users.
   */
  onlyNew?: boolean;
  /** Receives the skipped lines while the import runs. Then the report does not contain them. */
  onSkip?: (lines: readonly BadLine[]) => Promise<void>;
  /** Called with the number of lines read, every thousand lines and at the end. */
  onLine?: (lines: number) => void;
}

/**
 * Imports records into the database in one transaction. Does not change records that already exist.
 * @param lines in the export format; empty lines are ignored, and errors are bad lines
 * @throws ImportError if there are bad lines; then nothing is imported
 */
export async function importRecords(
  engine: Engine,
  lines: AsyncIterable<string | BadLineError>,
  options: ImportOptions = {},
): Promise<ImportReport> {
  const report: ImportReport = { added: 0, unchanged: 0, bad: [] };
  // The command may run before a new version of the server has updated the index.
  await updateSearchIndex(engine);
  // Otherwise, records of a deleted account could not be imported again.
  while (!(await eraseDeletedRows(engine)));
  const writer = writerOf(engine);
  const batches = readBatches(lines, options.onLine);
  // Read before the transaction, which would otherwise hold its lock while it waits: an export into a pipe writes its
  // first line only after it has read its whole database.
  const first = await batches.next();
  await transactAlone(engine, async (trx) => {
    // The rows of accounts and spaces that were deleted while the import waited for its first line.
    while (await eraseBatch(engine, trx));
    const existing = options.onlyNew ? await lastKeys(trx) : NOTHING_EXISTING;
    const buildIndexes = await engine.dropIndexes?.(trx);
    const transaction = await engine.transactionNumber(trx);
    const run = { engine, trx, report, rejected: new RejectedRecords(), transaction, existing };
    await addBatches(run, first, batches, options);
    await updateParticipantCounts(trx, transaction);
    await writer.indexQueuedSpaces(trx);
    await buildIndexes?.();
  });
  // Only a warning, because the import is committed, and the maintenance of a server also refreshes the dictionary.
  await writer.refreshDictionary().catch((error: Error) => {
    process.emitWarning(`The search dictionary could not be refreshed. ${error.message}`);
  });
  return report;
}

const NOTHING_EXISTING: ImportRun['existing'] = { users: 0, spaces: 0, messages: 0 };

/** Returns the highest `pk` of each table. */
async function lastKeys(trx: DatabaseTransaction): Promise<ImportRun['existing']> {
  const lastKey = async (table: keyof ImportRun['existing']) => {
    const row = await trx
      .selectFrom(table)
      .select(({ fn }) => fn.max<number | null>('pk').as('last'))
      .executeTakeFirst();
    return row?.last ?? 0;
  };
  return {
    users: await lastKey('users'),
    spaces: await lastKey('spaces'),
    messages: await lastKey('messages'),
  };
}

async function addBatches(
  run: ImportRun,
  first: IteratorResult<Batch, void>,
  others: AsyncIterator<Batch, void>,
  { skipBad = false, onSkip }: ImportOptions,
): Promise<void> {
  const { report } = run;
  for (let next = first; !next.done; ) {
    // A database server adds this batch while this process parses the next one. If parsing fails, the transaction
    // must not end before the batch is added. Otherwise, a statement could run after the rollback and be committed.
    const reading = others.next();
    // Awaited below, unless adding the batch fails.
    reading.catch(() => {});
    await addBatch(run, next.value);
    if (!skipBad && report.bad.length >= MAX_BAD_LINES) {
      report.bad.length = MAX_BAD_LINES;
      throw new ImportError(report);
    }
    if (skipBad && onSkip && report.bad.length > 0) {
      await onSkip(report.bad);
      report.bad = [];
    }
    next = await reading;
  }
  if (report.bad.length > 0 && !skipBad) throw new ImportError(report);
}

/** Adds the records of a batch unless they exist. Adds its bad lines to the report in line order. */
async function addBatch(run: ImportRun, { records, bad }: Batch): Promise<void> {
  run.rejected.dependents.clear();
  // First, because records of the batch can refer to them.
  for (const line of bad) rejectLine(run, line, line.content);
  await addUsers(run, records.user);
  await addSpaces(run, records.space);
  await addParticipants(run, records.participant);
  await addMessages(run, records.message);
  await addAppreciations(run, records.appreciation);
  await addBlocks(run, records.block);
  // The lines of earlier batches come first and are already sorted.
  run.report.bad.sort((a, b) => a.line - b.line);
}

/** Counts the participants of all spaces that the import has added or added participants to. */
async function updateParticipantCounts(
  trx: DatabaseTransaction,
  changed_in: number,
): Promise<void> {
  await trx
    .updateTable('spaces')
    .set(({ selectFrom }) => ({
      changed_in,
      participant_count: selectFrom('participations')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .whereRef('space_pk', '=', 'spaces.pk')
        .where('left_at', 'is', null),
    }))
    .where('pk', 'in', (from) => from.selectFrom('spaces_to_index').select('space_pk'))
    .execute();
}
