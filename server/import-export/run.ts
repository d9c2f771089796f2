import type { DatabaseTransaction, Engine } from '../database/engine.ts';
import { DomainError } from '../errors.ts';

/** Thrown for an invalid line. The message is the reason, without the line number. */
export class BadLineError extends Error {}

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
}

/** The state of a running import. */
export interface ImportRun {
  engine: Engine;
  trx: DatabaseTransaction;
  report: ImportReport;
  /** See `Engine.transactionNumber`. */
  transaction: number;
  /** Records can refer only to users, spaces and messages with a higher `pk`: those that this import has added. */
  existing: Record<'users' | 'spaces' | 'messages', number>;
}

/** A record, or a row made from it, with its line number. */
export interface Line<Content> {
  number: number;
  content: Content;
}

/**
 * Converts the content of each line. If `convert` throws a BadLineError or DomainError, adds the line to the report and
 * omits it from the result.
 */
export function convertLines<From, To>(
  { bad }: ImportReport,
  lines: readonly Line<From>[],
  convert: (content: From) => To,
): Line<To>[] {
  const converted: Line<To>[] = [];
  for (const { number, content } of lines) {
    try {
      converted.push({ number, content: convert(content) });
    } catch (error) {
      if (!(error instanceof BadLineError || error instanceof DomainError)) throw error;
      bad.push({ line: number, reason: error.message });
    }
  }
  return converted;
}

export function contentsOf<Content>(lines: readonly Line<Content>[]): Content[] {
  return lines.map(({ content }) => content);
}

/** Counts valid records. Those that were not added existed before or occurred twice. */
export function countRecords(report: ImportReport, records: number, added: number): void {
  report.added += added;
  report.unchanged += records - added;
}
