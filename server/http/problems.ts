import { STATUS_CODES } from 'node:http';
import type { Problem } from '../../generated/types.gen.ts';
import type { ErrorCode, Pointer } from '../errors.ts';

/** The HTTP status of each problem code. `openapi.yaml` documents the codes for clients. */
export const PROBLEM_STATUSES = {
  invalid_request: 400,
  invalid_cursor: 400,
  username_invalid: 400,
  email_invalid: 400,
  bio_invalid: 400,
  password_invalid: 400,
  password_too_common: 400,
  password_names_you: 400,
  avatar_missing: 400,
  unauthenticated: 401,
  credentials_incorrect: 401,
  current_password_incorrect: 403,
  registration_closed: 403,
  account_suspended: 403,
  not_space_creator: 403,
  not_message_author: 403,
  not_a_participant: 403,
  removed_from_space: 403,
  own_message: 403,
  not_found: 404,
  space_not_found: 404,
  message_not_found: 404,
  user_not_found: 404,
  participant_not_found: 404,
  session_not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  username_taken: 409,
  username_reserved: 409,
  email_taken: 409,
  creator_cannot_leave: 409,
  space_is_public: 409,
  space_cannot_become_public: 409,
  too_many_reports: 409,
  quota_exceeded: 409,
  precondition_failed: 412,
  body_too_large: 413,
  avatar_too_large: 413,
  uri_too_long: 414,
  unsupported_media_type: 415,
  avatar_type_unsupported: 415,
  range_not_satisfiable: 416,
  expectation_failed: 417,
  avatar_undecodable: 422,
  too_many_requests: 429,
  headers_too_large: 431,
  internal: 500,
  unavailable: 503,
} as const satisfies Readonly<Record<ErrorCode, number>> & Readonly<Record<string, number>>;

/** Value of the Retry-After header of 503 responses. */
export const RETRY_AFTER_SECONDS = 2;

export type ProblemCode = keyof typeof PROBLEM_STATUSES;

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
    this.pointers = pointers;
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
    errors: [...pointers],
  };
}

const MAX_REPORTED_ERRORS = 20;

/**
 * Returns the problem of a request with invalid values.
 * @param pointers the invalid values; only the first 20 are reported
 */
export function invalidValues(
  pointers: readonly Pointer[],
  code: ProblemCode = 'invalid_request',
): HttpProblem {
  const reported = pointers.slice(0, MAX_REPORTED_ERRORS);
  const summary = reported
    .map(({ pointer, message }) => `${nameIn(pointer)} ${message}`)
    .join('; ');
  return new HttpProblem(code, `The request is invalid: ${summary}.`, { pointers: reported });
}

/** Returns the name of the parameter or field at a pointer. */
function nameIn(pointer: string): string {
  return pointer.replace(/^[/?{]|\}$/g, '') || 'the body';
}

/** @param pointer a JSON pointer to a text that JSON or the database would change, see `findUnstorable` */
export function unstorableText(pointer: string): HttpProblem {
  return new HttpProblem('invalid_request', 'Text must be valid Unicode without NUL characters.', {
    pointers: [{ pointer, message: 'contains a NUL character or an unpaired surrogate' }],
  });
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
export function unavailable(cause?: unknown): HttpProblem {
  const detail = 'The service is temporarily unavailable. Try again in a few seconds.';
  return new HttpProblem('unavailable', detail, { cause });
}
