import { MAX_ROWS_PER_STATEMENT } from '../database/prepared.ts';
import { type DataRecord, nameOf, parseRecord } from './records.ts';
import { BadLineError, type Line } from './run.ts';

/** Consecutive lines whose records are imported together: first all users, then all spaces, and so on. */
export interface Batch {
  /** The records of each type. */
  records: { [Type in DataRecord['type']]: Line<Extract<DataRecord, { type: Type }>>[] };
  /** The lines without a valid record. */
  bad: Line<BadLineError>[];
}

/** Large enough that statements write many rows at once, even if the lines alternate between the types. */
const MAX_LINES_PER_BATCH = 8 * MAX_ROWS_PER_STATEMENT;

/** A batch ends after this many bad lines, so that an import reports them before a full batch has been read. */
const MAX_BAD_LINES_PER_BATCH = 100;

/** `onLine` is called after this many lines. */
const LINES_PER_REPORT = 1_000;

/**
 * Divides lines into batches, and reads at most one line beyond a batch. No record refers to a later line of its batch,
 * so the records of a batch can be imported in the order of their types.
 * @param onLine called with the number of lines read, every thousand lines and at the end
 */
export async function* readBatches(
  lines: AsyncIterable<string | BadLineError>,
  onLine: (lines: number) => void = () => {},
): AsyncGenerator<Batch, void> {
  let batch = new BatchBuilder();
  let number = 0;
  for await (const line of lines) {
    number += 1;
    if (number % LINES_PER_REPORT === 0) onLine(number);
    if (typeof line === 'string' && line.trim() === '') continue;
    const record = typeof line === 'string' ? parseLine(line) : line;
    if (record instanceof BadLineError) {
      batch.bad.push({ number, name: record.record, content: record });
    } else {
      if (batch.refersTo(record)) {
        yield batch;
        batch = new BatchBuilder();
      }
      batch.add({ number, name: nameOf(record), content: record });
    }
    if (batch.size === MAX_LINES_PER_BATCH || batch.bad.length === MAX_BAD_LINES_PER_BATCH) {
      yield batch;
      batch = new BatchBuilder();
    }
  }
  onLine(number);
  yield batch;
}

class BatchBuilder implements Batch {
  readonly records: Batch['records'] = {
    user: [],
    space: [],
    participant: [],
    message: [],
    appreciation: [],
    block: [],
  };
  readonly bad: Batch['bad'] = [];
  /** The names that the records refer to, see `referencesOf`. */
  readonly #references = new Set<string>();

  get size(): number {
    return Object.values(this.records).reduce((sum, { length }) => sum + length, this.bad.length);
  }

  add(line: Line<DataRecord>): void {
    (this.records[line.content.type] as Line<DataRecord>[]).push(line);
    for (const reference of referencesOf(line.content)) this.#references.add(reference);
  }

  /** Whether one of the batch's records refers to `record`, or may refer to it because its id is not known yet. */
  refersTo(record: DataRecord): boolean {
    const name = nameOf(record);
    if (name !== undefined) return this.#references.has(name);
    const types = Object.keys(this.records) as DataRecord['type'][];
    return types
      .slice(types.indexOf(record.type) + 1)
      .some((type) => this.records[type].length > 0);
  }
}

/** Returns the names of the records that a record refers to. */
function referencesOf(record: DataRecord): string[] {
  switch (record.type) {
    case 'user':
      return [];
    case 'space':
      return [`user ${record.creator_id}`];
    case 'participant':
      return [`user ${record.user_id}`, `user ${record.removed_by}`, `space ${record.space_id}`];
    case 'message':
      return [
        `user ${record.author_id}`,
        `space ${record.space_id}`,
        `participant ${record.space_id} ${record.author_id}`,
        `message ${record.reply_to}`,
        ...(record.mentions ?? []).map((userId) => `user ${userId}`),
      ];
    case 'appreciation':
      return [`user ${record.user_id}`, `message ${record.message_id}`];
    case 'block':
      return [`user ${record.user_id}`, `user ${record.blocked_id}`];
  }
}

function parseLine(line: string): DataRecord | BadLineError {
  try {
    return parseRecord(line);
  } catch (error) {
    if (error instanceof BadLineError) return error;
    throw error;
  }
}
