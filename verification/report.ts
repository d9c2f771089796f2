import { type Cause, type Check, explainCauses } from './checks.ts';
import { shorten, toOneLine } from './text.ts';
import type { Verification } from './verify.ts';

const LINE_LENGTH = 80;
/** Maximum number of checks per cause that are shown with request and response. */
const MAX_EXAMPLES = 2;
/** Maximum number of requests per scenario that are shown: the last ones. */
const MAX_EXCHANGES = 3;
/** Maximum length of the text of a request or a response, unless the report is verbose. */
const MAX_SHOWN_LENGTH = 300;

/**
 * Formats a verification for a terminal: each cause of failures with the checks that it affects, checks that could not
 * run, then the totals.
 * @param isVerbose whether to show every failed check with request and response, and the omitted responses
 */
export function formatReport(
  { checks, omitted, blocked }: Verification,
  isVerbose: boolean,
): string {
  const failures = checks.flatMap((check) => check.causes.map((cause) => ({ ...cause, check })));
  const groups = [...Map.groupBy(failures, ({ text }) => text).values()].sort(
    (a, b) => b.length - a.length,
  );
  const failed = checks.filter(({ causes }) => causes.length > 0);
  return [
    ...groups.flatMap((group) => formatGroup(group, checks, isVerbose)),
    ...formatBlocked(blocked, isVerbose),
    ...formatOmitted(omitted, isVerbose),
    `${checks.length - failed.length} passed, ${failed.length} failed`,
  ].join('\n');
}

interface Failure extends Cause {
  check: Check;
}

function formatGroup(group: Failure[], checks: Check[], isVerbose: boolean): string[] {
  const examples = isVerbose ? group : group.slice(0, MAX_EXAMPLES);
  const others = group.slice(examples.length).map(({ check }) => check.name);
  const title = `FAILED  ${explainCauses(group)}${formatExtent(group, checks)}`;
  return [
    ...wrap(title, '        '),
    ...examples.flatMap((failure) => formatExample(failure, isVerbose)),
    ...(others.length > 0 ? [`  and ${others.length} more:`, ...formatNames(others)] : []),
    '',
  ];
}

/** Returns the number of checks, and what they have in common. */
function formatExtent(group: Failure[], checks: Check[]): string {
  if (group.length === 1) return '';
  const [status, ...otherStatuses] = new Set(group.map(({ check }) => statusOf(check.name)));
  const isEvery =
    status !== undefined &&
    otherStatuses.length === 0 &&
    group.length === checks.filter(({ name }) => statusOf(name) === status).length;
  if (group.every(({ check }) => isOperation(check.name))) return ` (${group.length} operations)`;
  return ` (${isEvery ? `every ${status}, ` : ''}${group.length} checks)`;
}

function formatExample({ pointer, check }: Failure, isVerbose: boolean): string[] {
  const { name, rule, exchanges = [], request, response } = check;
  const maxLength = isVerbose ? Number.POSITIVE_INFINITY : MAX_SHOWN_LENGTH;
  const format = (sign: string, text: string | undefined) =>
    text === undefined ? [] : wrap(`    ${sign} ${shorten(compact(text), maxLength)}`, '      ');
  return [
    `  ${name}${pointer ? ` at ${pointer}` : ''}`,
    ...format('>', request),
    ...format('<', response),
    ...format('Contract:', rule),
    ...exchanges.slice(isVerbose ? 0 : -MAX_EXCHANGES).flatMap((line) => format('>', line)),
  ];
}

function formatBlocked(blocked: Map<string, string>, isVerbose: boolean): string[] {
  return [...Map.groupBy(blocked, ([, operationId]) => operationId)].flatMap(
    ([operationId, entries]) => {
      const subject = entries.length === 1 ? '1 check' : `${entries.length} checks`;
      const title = `${subject} did not run, because the test data requires ${operationId}`;
      if (!isVerbose) return wrap(`${title}.`, '  ');
      return [...wrap(`${title}:`, '  '), ...formatNames(entries.map(([name]) => name)), ''];
    },
  );
}

function formatOmitted(omitted: Map<string, string>, isVerbose: boolean): string[] {
  if (omitted.size === 0) return [];
  if (!isVerbose) {
    const subject =
      omitted.size === 1 ? '1 declared response was' : `${omitted.size} declared responses were`;
    return [`${subject} not checked; --verbose explains why.`];
  }
  return [...Map.groupBy(omitted, ([, reason]) => reason)].flatMap(([reason, entries]) => [
    ...wrap(`Not checked because ${reason}:`, '  '),
    ...formatNames(entries.map(([id]) => id)),
    '',
  ]);
}

/** Lists names with one entry per status, such as `404: getUser, getSpace`. */
function formatNames(names: string[]): string[] {
  const byStatus = [...Map.groupBy(names, statusOf)];
  return byStatus
    .sort(([a = '999'], [b = '999']) => a.localeCompare(b))
    .flatMap(([status, group]) => {
      if (status === undefined) return formatNamesWithoutStatus(group);
      return wrap(`    ${status}: ${group.join(', ').replaceAll(` ${status}`, '')}`, '         ');
    });
}

/** Lists operations in a paragraph, and behaviours one per line. */
function formatNamesWithoutStatus(names: string[]): string[] {
  const operations = names.filter(isOperation);
  const behaviours = names.filter((name) => !isOperation(name));
  return [
    ...(operations.length > 0 ? wrap(`    ${operations.join(', ')}`, '    ') : []),
    ...behaviours.map((name) => `    ${name}`),
  ];
}

/** Returns whether the name is that of an operation, not that of a response or a behaviour. */
function isOperation(name: string): boolean {
  return !name.includes(' ');
}

/** Returns the status in `getUser 404`, or undefined for a behaviour. */
function statusOf(name: string): string | undefined {
  return /^\w+ (\d{3})\b/.exec(name)?.[1];
}

/** Returns the text in one line, without the padding of requests that are too large. */
function compact(text: string): string {
  return toOneLine(text).replaceAll(/x{20,}/g, 'xxx…');
}

/** Splits a text into lines, at spaces where possible. */
function wrap(text: string, indent: string): string[] {
  const lines: string[] = [];
  let rest = text;
  while (rest.length > LINE_LENGTH) {
    const space = rest.lastIndexOf(' ', LINE_LENGTH);
    const hasSpace = space > LINE_LENGTH / 2;
    const end = hasSpace ? space : LINE_LENGTH;
    lines.push(rest.slice(0, end));
    rest = indent + rest.slice(hasSpace ? end + 1 : end);
  }
  return [...lines, rest];
}
