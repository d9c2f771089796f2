import { STATUS_CODES } from 'node:http';
import {
  type InvalidValueCode,
  PROBLEM_STATUSES,
  type ProblemCode,
} from '../../generated/problem-codes.gen.ts';
import type { InvalidValue, Problem } from '../../generated/types.gen.ts';
import type { Pointer } from '../errors.ts';

/** Value of the Retry-After header of 503 responses. */
export const RETRY_AFTER_SECONDS = 2;

export interface ProblemOptions {
  /** The invalid parts of the request. */
  pointers?: readonly Pointer[];
  /** Additional headers of the response. */
  headers?: Record<string, string>;
  cause?: unknown;
}

/**
 * An error response. Thrown for errors that exist only in HTTP, such as an unknown path. The error handler converts all
 * other errors to it.
 */
export class HttpProblem extends Error {
  readonly code: ProblemCode;
  readonly pointers: readonly Pointer[];
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: ProblemCode,
    detail: string,
    { pointers = [], headers = {}, cause }: ProblemOptions = {},
  ) {
    super(detail, { cause });
    this.name = 'HttpProblem';
    this.code = code;
    this.pointers = pointers.map((each) => ({ code, ...each }));
    this.headers = headers;
  }
}

/** Returns a problem document (RFC 9457). */
export function problemDocument(
  code: ProblemCode,
  detail: string,
  requestId: string,
  pointers: readonly Pointer[] = [],
): Problem {
  const status = PROBLEM_STATUSES[code];
  return {
    type: 'about:blank',
    title: STATUS_CODES[status] ?? 'Error',
    status,
    detail,
    code,
    request_id: requestId,
    errors: pointers.map((each) => describe(code, each)),
  };
}

function describe(
  problemCode: ProblemCode,
  { in: place, pointer, code = problemCode, message }: Pointer,
): InvalidValue {
  return place === undefined
    ? { in: 'body', pointer, name: null, code, message }
    : { in: place, pointer: null, name: pointer || null, code, message };
}

/** The codes of values that break a keyword of their schema. */
export const KEYWORD_CODES: Readonly<Record<string, InvalidValueCode>> = {
  required: 'missing',
  additionalProperties: 'unknown_field',
  type: 'wrong_type',
  enum: 'unknown_value',
  pattern: 'malformed',
  minLength: 'too_short',
  maxLength: 'too_long',
  minItems: 'too_few',
  maxItems: 'too_many',
  minProperties: 'too_few',
  minimum: 'too_small',
  maximum: 'too_large',
};

const MAX_REPORTED_ERRORS = 20;
const MAX_POINTER_LENGTH = 200;

/**
 * Returns the problem of a request with invalid values.
 * @param pointers the invalid values; only the first 20 are reported
 */
export function invalidValues(pointers: readonly Pointer[]): HttpProblem {
  const reported = pointers
    .slice(0, MAX_REPORTED_ERRORS)
    .map((each) => ({ ...each, pointer: shorten(each.pointer) }));
  const summary = reported
    .map(({ pointer, message }) => `${pointer.replace(/^\//, '') || 'the body'} ${message}`)
    .join('; ');
  const detail = `The request is invalid: ${summary}.`;
  return new HttpProblem('invalid_request', detail, { pointers: reported });
}

/** Names of unknown fields can be as long as the whole body. */
function shorten(pointer: string): string {
  return pointer.length > MAX_POINTER_LENGTH ? `${pointer.slice(0, MAX_POINTER_LENGTH)}…` : pointer;
}

/** @param pointer a JSON pointer to a text that JSON or the database would change, see `findUnstorable` */
export function unstorableText(pointer: string): HttpProblem {
  return new HttpProblem('invalid_request', 'Text must be valid Unicode without NUL characters.', {
    pointers: [
      {
        pointer: shorten(pointer),
        code: 'forbidden_characters',
        message: 'contains a NUL character or an unpaired surrogate',
      },
    ],
  });
}

export function nestedTooDeeply(): HttpProblem {
  return new HttpProblem('invalid_request', 'The request body is nested too deeply.');
}

export function notFound(): HttpProblem {
  return new HttpProblem('not_found', 'The path does not exist.');
}

/** @param allowed the methods that the path supports */
export function methodNotAllowed(method: string, allowed: readonly string[]): HttpProblem {
  const allow = allowed.toSorted().join(', ');
  return new HttpProblem(
    'method_not_allowed',
    `${method} is not allowed at this path. Allowed: ${allow}.`,
    { headers: { allow } },
  );
}

/** The response to a failed `If-Match` or `If-Unmodified-Since`. */
export function preconditionFailed(): HttpProblem {
  return new HttpProblem(
    'precondition_failed',
    'The file does not meet If-Match or If-Unmodified-Since. Request it without them.',
  );
}

/** @param headers with the Content-Range, which states the size of the file */
export function rangeNotSatisfiable(headers: Record<string, string> = {}): HttpProblem {
  return new HttpProblem(
    'range_not_satisfiable',
    'The range is malformed or lies outside of the file. Content-Range states the size of the file.',
    { headers },
  );
}

/** @param cause is logged, but not sent */
export function unavailable(
  cause?: unknown,
  detail = 'The service is temporarily unavailable. Try again in a few seconds.',
): HttpProblem {
  return new HttpProblem('unavailable', detail, { cause });
}
