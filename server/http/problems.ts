import { STATUS_CODES } from 'node:http';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import type { Problem } from '../../generated/types.gen.ts';
import { DomainError, type ErrorCode, type Pointer } from '../errors.ts';

/** The status of each kind of problem. `openapi.yaml` explains the codes to clients. */
export const statuses = {
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
  not_space_creator: 403,
  not_message_author: 403,
  not_a_participant: 403,
  own_message: 403,
  not_found: 404,
  space_not_found: 404,
  message_not_found: 404,
  user_not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  username_taken: 409,
  username_reserved: 409,
  email_taken: 409,
  creator_cannot_leave: 409,
  body_too_large: 413,
  avatar_too_large: 413,
  uri_too_long: 414,
  unsupported_media_type: 415,
  avatar_type_unsupported: 415,
  expectation_failed: 417,
  avatar_undecodable: 422,
  too_many_requests: 429,
  headers_too_large: 431,
  internal: 500,
  unavailable: 503,
} as const satisfies Readonly<Record<ErrorCode, number>> & Readonly<Record<string, number>>;

export type ProblemCode = keyof typeof statuses;

/** A refusal that only HTTP knows of. */
export class HttpProblem extends Error {
  readonly code: ProblemCode;
  readonly pointers: readonly Pointer[];
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: ProblemCode,
    detail: string,
    {
      pointers = [],
      headers = {},
    }: { pointers?: readonly Pointer[]; headers?: Record<string, string> } = {},
  ) {
    super(detail);
    this.name = 'HttpProblem';
    this.code = code;
    this.pointers = pointers;
    this.headers = headers;
  }
}

export function problemDocument(
  code: ProblemCode,
  detail: string,
  requestId: string,
  pointers: readonly Pointer[] = [],
): Problem {
  const status = statuses[code];
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

/** Answers with what went wrong. No message of a library or of the database ever leaves the server. */
export function sendProblem(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  isUnavailable: (error: unknown) => boolean,
): FastifyReply {
  const problem = problemOf(error, isUnavailable);
  const status = statuses[problem.code];
  if (status === 500) request.log.error({ err: error }, 'request failed');
  // What is refused on purpose is no failure: under overload, a line for each would only add to it.
  else if (status === 503 && !isOnPurpose(error)) request.log.warn({ err: error }, 'unavailable');

  for (const [name, value] of Object.entries(problem.headers)) reply.header(name, value);
  if (status === 503) reply.header('retry-after', '2');
  if (status === 401) reply.header('www-authenticate', challenge(problem, request));
  const document = problemDocument(problem.code, problem.message, request.id, problem.pointers);
  return (
    reply
      .header('cache-control', 'no-store')
      .type('application/problem+json')
      .code(status)
      // As bytes: to text, Fastify adds a charset, and for a broken URL no hook runs to take it off.
      .send(Buffer.from(JSON.stringify(document)))
  );
}

function isOnPurpose(error: unknown): boolean {
  return (
    error instanceof DomainError || (error instanceof HttpProblem && error.cause === undefined)
  );
}

/** Finds fault with a token only where one was sent and looked at, which login does not (RFC 6750, 3.1). */
function challenge({ code }: HttpProblem, { headers }: FastifyRequest): string {
  const isTokenAtFault =
    code === 'unauthenticated' && /^bearer +\S/i.test(headers.authorization ?? '');
  return isTokenAtFault ? 'Bearer error="invalid_token"' : 'Bearer';
}

function problemOf(error: unknown, isUnavailable: (error: unknown) => boolean): HttpProblem {
  if (error instanceof HttpProblem) return error;
  if (error instanceof DomainError)
    return new HttpProblem(error.code, error.message, { pointers: error.pointers });
  if (isUnavailable(error)) return unavailable();
  return frameworkProblem(error as FastifyError) ?? internal();
}

/** What Fastify itself refuses, in our words. */
function frameworkProblem({ code, statusCode }: Partial<FastifyError>): HttpProblem | undefined {
  switch (code) {
    case 'FST_ERR_BAD_URL':
      return new HttpProblem('invalid_request', 'The path is not valid percent-encoded UTF-8.');
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new HttpProblem('body_too_large', 'The body may have at most 32,768 bytes.');
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new HttpProblem(
        'invalid_request',
        'The body is not as long as its Content-Length says.',
      );
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new HttpProblem('unsupported_media_type', 'The Content-Type cannot be read.');
    case 'FST_STATIC_FORBIDDEN_PATH':
      return notFound();
    case 'FST_ERR_ASYNC_CONSTRAINT':
    case 'FST_ERR_HOST_CONSTRAINT':
      return new HttpProblem('invalid_request', 'The request cannot be routed.');
  }
  if (statusCode === 400) return new HttpProblem('invalid_request', 'The request is malformed.');
  return undefined;
}

export function notFound(): HttpProblem {
  return new HttpProblem('not_found', 'There is nothing at this path.');
}

export function unavailable(): HttpProblem {
  return new HttpProblem(
    'unavailable',
    'The service cannot answer right now. Try again in a few seconds.',
  );
}

function internal(): HttpProblem {
  return new HttpProblem(
    'internal',
    'The server failed. Nothing you sent is at fault; quote the request_id when you report it.',
  );
}
