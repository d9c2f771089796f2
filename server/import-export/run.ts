import type { DatabaseTransaction, Engine } from '../database/engine.ts';
import { DomainError } from '../errors.ts';

/** Thrown for an invalid line. The message is the reason, without the line number. */
export class BadLineError extends Error {
  /** The name of the record in the line, if it is known. See `nameOf`. */
  readonly record: string | undefined;

  constructor(message: string, record?: string) {
    super(message);
    this.record = record;
  }
}

/** Thrown for a valid record that refers to the record of a bad line. */
export class DependentLineError extends BadLineError {
  /** The number of the bad line. */
  readonly line: number;

  constructor(line: number) {
    super(`depends on line ${line}`);
    this.line = line;
  }
}

export interface ImportReport {
  /** Number of records added. */
  added: number;
  /** Number of records that already existed. */
  unchanged: number;
  bad: BadLine[];
}

export interface BadLine {
  line: number;
  reason: string;
  /** Number of further lines that have the same reason, because they depend on the same line. */
  others?: number;
}

/** Returns the number of lines in the entries of a report. */
export function countLines(bad: readonly BadLine[]): number {
  return bad.reduce((sum, { others = 0 }) => sum + 1 + others, 0);
}

/** The state of a running import. */
export interface ImportRun {
  engine: Engine;
  trx: DatabaseTransaction;
  report: ImportReport;
  rejected: RejectedRecords;
  /** See `Engine.transactionNumber`. */
  transaction: number;
  /** Records can refer only to users, spaces and messages with a higher `pk`: those that this import has added. */
  existing: Record<'users' | 'spaces' | 'messages', number>;
}

/** A record, or a row made from it, with its line number. */
export interface Line<Content> {
  number: number;
  /** See `nameOf`. */
  name: string | undefined;
  content: Content;
}

/**
 * Converts the content of each line. If `convert` throws a BadLineError or DomainError, adds the line to the report and
 * omits it from the result.
 */
export function convertLines<From, To>(
  { report, rejected }: Pick<ImportRun, 'report' | 'rejected'>,
  lines: readonly Line<From>[],
  convert: (content: From, number: number) => To,
): Line<To>[] {
  const converted: Line<To>[] = [];
  for (const line of lines) {
    try {
      converted.push({ ...line, content: convert(line.content, line.number) });
    } catch (error) {
      if (!(error instanceof BadLineError || error instanceof DomainError)) throw error;
      rejectLine({ report, rejected }, line, error);
    }
  }
  return converted;
}

/** Adds a bad line to the report. Those that depend on the same line share an entry until the next batch. */
export function rejectLine(
  { report, rejected }: Pick<ImportRun, 'report' | 'rejected'>,
  { number, name }: Pick<Line<unknown>, 'number' | 'name'>,
  error: BadLineError | DomainError,
): void {
  const cause = error instanceof DependentLineError ? error.line : number;
  if (name !== undefined) rejected.add(name, cause);
  if (cause !== number) {
    const entry = rejected.dependents.get(cause);
    if (entry) {
      entry.line = Math.min(entry.line, number);
      entry.others = (entry.others ?? 0) + 1;
      return;
    }
  }
  const entry: BadLine = { line: number, reason: error.message };
  report.bad.push(entry);
  if (cause !== number) rejected.dependents.set(cause, entry);
}

// At most 30 MB.
const MAX_REJECTED_NAMES = 100_000;
/** That of a participant with the longest ids. A record with a longer one is invalid, and nothing refers to it. */
const MAX_NAME_LENGTH = 'participant'.length + 2 * (1 + 64);

/** The records of bad lines, so that those that refer to them can name the cause. */
export class RejectedRecords {
  /** The entries of the current batch in the report, by the line on which they depend. */
  readonly dependents = new Map<number, BadLine>();
  readonly #causes = new Map<string, number>();

  add(name: string, cause: number): void {
    if (name.length > MAX_NAME_LENGTH || this.#causes.size >= MAX_REJECTED_NAMES) return;
    this.#causes.set(name, cause);
  }

  /**
   * Throws if a record that is missing in the database was in a bad line.
   * @param name see `nameOf`
   * @throws DependentLineError
   */
  throwIfCauseOf(name: string): void {
    const cause = this.#causes.get(name);
    if (cause !== undefined) throw new DependentLineError(cause);
  }
}

export function contentsOf<Content>(lines: readonly Line<Content>[]): Content[] {
  return lines.map(({ content }) => content);
}

/** Counts valid records. Those that were not added existed before or occurred twice. */
export function countRecords(report: ImportReport, records: number, added: number): void {
  report.added += added;
  report.unchanged += records - added;
}
