import { UsageError } from '../command-line/arguments.ts';
import type { Command, Terminal } from '../command-line/command.ts';
import { onDatabase } from '../command-line/on-database.ts';
import { quoted } from '../command-line/printable.ts';
import type { Engine } from '../database/engine.ts';
import { OperatorError } from '../errors.ts';
import { readPages } from '../pagination.ts';
import { closeReports, listReports, type Report } from '../reports/reports.ts';

/** Number of reports read at once. */
const BATCH_SIZE = 100;

export const listOrCloseReports: Command = async (given, terminal) => {
  const reportIds = [...new Set(given.positionals)];
  const hasIds = reportIds.length > 0;
  // Before the database is opened.
  if (given.flags.includes('close') !== hasIds) {
    throw new UsageError(hasIds ? 'To close reports, add --close.' : 'REPORT_ID is missing.');
  }
  const work = (engine: Engine) =>
    hasIds
      ? close(engine, reportIds, terminal)
      : print(engine, given.flags.includes('json'), terminal);
  return onDatabase(work)(given, terminal);
};

async function close(
  engine: Engine,
  reportIds: readonly string[],
  { console }: Terminal,
): Promise<void> {
  const unknownId = await closeReports(engine, reportIds);
  if (unknownId !== undefined) {
    throw new OperatorError(
      `There is no open report with the id ${unknownId}. Nothing was closed.`,
    );
  }
  console.log(`Reports closed: ${reportIds.length}.`);
}

async function print(engine: Engine, asJson: boolean, { console }: Terminal): Promise<void> {
  let count = 0;
  for await (const reports of readPages((request) => listReports(engine, request), BATCH_SIZE)) {
    for (const report of reports)
      console.log(asJson ? JSON.stringify(report) : describeReport(report));
    count += reports.length;
  }
  console.error(`Open reports: ${count}.`);
}

/** Returns a report as text, with the ids that the other commands take. */
export function describeReport(report: Report): string {
  const lines = [
    `report       ${report.report_id}  ${report.created_at}`,
    `reason       ${quoted(report.reason)}`,
  ];
  if (report.message_id !== null) {
    lines.push(`message      ${report.message_id}  ${quoted(report.text ?? '')}`);
    if (report.edited_at !== null && report.edited_at > report.created_at) {
      lines.push(`edited       ${report.edited_at}  after the report`);
    }
  }
  lines.push(
    `space        ${report.space_id}  ${quoted(report.title)}`,
    `user         ${report.author_id}  ${report.author_username}`,
    `reported by  ${report.reporter_id}  ${report.reporter_username}\n`,
  );
  return lines.join('\n');
}
