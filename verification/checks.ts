import { declaredResponses } from './declared-responses.ts';
import type { Difference, Result, Transaction } from './dredd.ts';
import {
  explainNetworkError,
  FailedOperation,
  MAX_TEXT_LENGTH,
  MissingOperation,
  UnexpectedResponse,
} from './exchange.ts';
import { shorten } from './text.ts';

/** The result of checking a declared response, or a behaviour that the contract describes. */
export interface Check {
  /** Starts with the operation: `getUser 404`. */
  name: string;
  /** The reasons for the failure; empty if the check passed. */
  causes: Cause[];
  /** The request: method, path and body. */
  request?: string | undefined;
  /** Its response: status, content type and body; undefined if there was none. */
  response?: string | undefined;
  /** For a scenario: the rule in the contract that it proves. */
  rule?: string;
  /** For a failed scenario: its requests with their responses, a line for each. */
  exchanges?: string[];
  /** The operation whose failure prevented the check. `request` and `response` are those of this operation. */
  failedOperation?: string;
  /** Whether the server does not implement this operation. */
  isMissing?: boolean;
}

export interface Cause {
  /** Equal for all checks that failed for the same reason. */
  text: string;
  /** For a wrong status: the declared one. */
  expectedStatus?: string;
  /** JSON Pointer of the wrong value in the body. */
  pointer?: string;
}

/** Explains causes with the same text in one line, such as `Wrong status: 200 instead of 403 or 404`. */
export function explainCauses(causes: readonly Cause[]): string {
  const [{ text } = { text: '' }] = causes;
  const statuses = new Set(causes.flatMap(({ expectedStatus = [] }) => expectedStatus));
  if (statuses.size === 0) return text;
  const list = new Intl.ListFormat('en', { type: 'disjunction' }).format([...statuses].sort());
  return `${text} instead of ${list}`;
}

/** Returns a check that failed with the error. */
export function failedCheck(name: string, error: unknown): Check {
  if (!(error instanceof UnexpectedResponse)) {
    return { name, causes: [{ text: explainNetworkError(error) }] };
  }
  const { message: text, request, response } = error;
  const check: Check = { name, causes: [{ text }], request, response };
  if (error instanceof FailedOperation) {
    check.failedOperation = error.operationId;
    check.isMissing = error instanceof MissingOperation;
  }
  return check;
}

/** Returns the check of a declared response. */
export function checkOf(result: Result): Check {
  const { transaction, error } = result;
  const { id: name, request, fullPath, real } = transaction;
  if (error instanceof UnexpectedResponse) return failedCheck(name, error);
  return {
    name,
    causes: error ? [{ text: explainNetworkError(error) }] : causesOf(result),
    request: shorten(`${request.method} ${fullPath} ${request.body}`, MAX_TEXT_LENGTH),
    response: real
      ? shorten(
          `${real.statusCode} ${real.headers['content-type'] ?? ''} ${real.body}`,
          MAX_TEXT_LENGTH,
        )
      : undefined,
  };
}

/** Returns the failed check of an operation that the server does not implement. */
export function missingOperationCheck(name: string, { request, response }: Check): Check {
  return { name, causes: [{ text: 'Not implemented' }], request, response };
}

function causesOf({ transaction, differences }: Result): Cause[] {
  const { statusCode = [], headers = [], body = [] } = differences;
  // With another status, the contract declares other headers and another body.
  if (statusCode.length > 0) {
    const text = `Wrong status: ${transaction.real?.statusCode}`;
    return [{ text, expectedStatus: transaction.expected.statusCode }];
  }
  const causes = [
    ...headers.map((difference) => explainHeader(difference, transaction)),
    ...body.map((difference) => explainField(difference, transaction)),
  ];
  // Several items of a list can have the same error.
  return [...Map.groupBy(causes, ({ text }) => text).values()].flatMap((same) => same.slice(0, 1));
}

function explainHeader({ location }: Difference, { expected, real }: Transaction): Cause {
  const name = Object.keys(expected.headers).find(
    (each) => `/${each.toLowerCase()}` === location?.pointer,
  ) as string;
  const value = real?.headers[name.toLowerCase()];
  if (value === undefined && isEmptyList(real?.body)) {
    return { text: 'The list is empty, although the test data has items for it' };
  }
  if (value === undefined) return { text: `Missing header: ${name}` };
  return { text: `Wrong ${name}: "${value}" instead of "${expected.headers[name]}"` };
}

function isEmptyList(body = ''): boolean {
  return body === '[]' || /"items"\s*:\s*\[\s*\]/.test(body);
}

/** Plain words for messages of Dredd. */
const phrases: [RegExp, string][] = [
  [/^Missing required property: .*/, 'is missing'],
  [/^Invalid type: (.+) \(expected (.+)\)$/, 'has the type $1 instead of $2'],
  [/^No enum match for: (.+)$/, 'has the undeclared value $1'],
  [/^should NOT have additional properties$/, 'is not declared'],
];

function explainField({ message, location }: Difference, { id }: Transaction): Cause {
  if (!location) return { text: 'The body is not JSON' };
  const { pointer } = location;
  const code = declaredResponses.find((each) => each.id === id)?.code;
  const [, value] = /No enum match for: (.+)$/.exec(message) ?? [];
  if (pointer === '/code' && code !== undefined && value !== undefined) {
    return { text: `Wrong code: ${value} instead of "${code}"` };
  }
  // The message repeats the pointer at its beginning.
  let text = message.replace(/^(At '[^']*'|data\S*) /, '');
  for (const [pattern, replacement] of phrases) text = text.replace(pattern, replacement);
  // Equal for all items of a list, and for all operations with the same schema.
  const field = pointer.split('/').findLast((part) => !/^\d*$/.test(part));
  return {
    text: field === undefined ? `The body ${text}` : `The field "${field}" ${text}`,
    pointer,
  };
}
