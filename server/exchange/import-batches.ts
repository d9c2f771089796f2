import { MAX_ROWS_PER_STATEMENT } from '../database/prepared.ts';
import type { BadLine, Line } from './import-run.ts';
import { BadLineError, type ExchangeRecord, parseRecord } from './records.ts';

/** Consecutive lines whose records are imported together. */
export interface Batch {
  /** The type of all records; undefined if there are only bad lines. */
  type: ExchangeRecord['type'] | undefined;
  records: Line<ExchangeRecord>[];
  /** The lines among them without a valid record. */
  bad: BadLine[];
}

/** With this size, most statements run once for each batch. */
const MAX_LINES = MAX_ROWS_PER_STATEMENT;

/** `onLine` is called after this many lines. */
const LINES_PER_REPORT = 1_000;

/**
 * Divides lines into batches of one type of record, without reading further than a batch needs. A record cannot refer to
 * records of its own type, so a batch contains nothing that its records refer to.
 * @param onLine called with the number of lines read, every thousand lines and at the end
 */
export async function* readBatches(
  lines: AsyncIterable<string | BadLineError>,
  onLine: (lines: number) => void,
): AsyncGenerator<Batch, void> {
  let batch = emptyBatch();
  let number = 0;
  for await (const line of lines) {
    number += 1;
    if (number % LINES_PER_REPORT === 0) onLine(number);
    if (typeof line === 'string' && line.trim() === '') continue;
    const record = typeof line === 'string' ? parseLine(line) : line;
    if (record instanceof BadLineError) {
      batch.bad.push({ line: number, reason: record.message });
    } else {
      if (batch.type !== undefined && record.type !== batch.type) {
        yield batch;
        batch = emptyBatch();
      }
      batch.type = record.type;
      batch.records.push({ number, content: record });
    }
    if (batch.records.length + batch.bad.length === MAX_LINES) {
      yield batch;
      batch = emptyBatch();
    }
  }
  onLine(number);
  yield batch;
}

function emptyBatch(): Batch {
  return { type: undefined, records: [], bad: [] };
}

function parseLine(line: string): ExchangeRecord | BadLineError {
  try {
    return parseRecord(line);
  } catch (error) {
    if (error instanceof BadLineError) return error;
    throw error;
  }
}
