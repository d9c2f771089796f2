import { UsageError } from '../command-line/arguments.ts';
import type { Command, Terminal } from '../command-line/command.ts';
import { onDatabase } from '../command-line/on-database.ts';
import { quoted } from '../command-line/printable.ts';
import type { Engine } from '../database/engine.ts';
import { OperatorError } from '../errors.ts';
import { type PageRequest, readPages } from '../pagination.ts';
import { closeReports, listReports, type Report } from '../reports/open-reports.ts';

/** Number of reports read at once. */
const BATCH_SIZE = 100;

export const listOrCloseReports: Command = async (given, terminal) => {
  const reportIds = [...new Set(given.positionals)];
  const isFlag = (name: string) => given.flags.includes(name);
  // Before the database is opened.
  assertUsage(reportIds, isFlag('close'), isFlag('about'));
  const work = (engine: Engine) =>
    isFlag('close')
      ? close(engine, reportIds, terminal)
      : print(engine, reportIds[0], isFlag('json'), terminal);
  return onDatabase(work)(given, terminal);
};

/** @throws UsageError */
function assertUsage(ids: readonly string[], closes: boolean, isAbout: boolean): void {
  if (closes && isAbout) throw new UsageError('--close and --about exclude each other.');
  if (isAbout && ids.length !== 1) {
    throw new UsageError('--about needs one id, of a space or of a user.');
  }
  if (closes && ids.length === 0) throw new UsageError('REPORT_ID is missing.');
  if (!closes && !isAbout && ids.length > 0) {
    throw new UsageError('To close reports, add --close.');
  }
}

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

/** @param about the id of the space or user of the reports; undefined for all */
async function print(
  engine: Engine,
  about: string | undefined,
  asJson: boolean,
  { console }: Terminal,
): Promise<void> {
  let count = 0;
  const read = (request: PageRequest) => listReports(engine, request, { about });
  for await (const reports of readPages(read, BATCH_SIZE)) {
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
  if (report.space_id !== null) {
    lines.push(`space        ${report.space_id}  ${quoted(report.title ?? '')}`);
  }
  lines.push(
    `user         ${report.author_id}  ${report.author_username}`,
    `reported by  ${report.reporter_id}  ${report.reporter_username}\n`,
  );
  return lines.join('\n');
}
