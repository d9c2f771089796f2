import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { PROBLEM_STATUSES } from '../../generated/problem-codes.gen.ts';
import type { Context } from '../context.ts';
import { DomainError, RateExceededError, ScopeMissingError } from '../errors.ts';
import type { Resource } from '../system/outage-log.ts';
import { bearerToken } from './authentication.ts';
import { bodyTooLarge } from './bodies.ts';
import {
  HttpProblem,
  notFound,
  preconditionFailed,
  problemDocument,
  RETRY_AFTER_SECONDS,
  rangeNotSatisfiable,
  unavailable,
} from './problems.ts';
import { RATE_LIMIT_HEADERS } from './rate-limits.ts';
import { explainValidation } from './validation.ts';

export type ErrorHandler = (
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
) => FastifyReply;

/** Returns a handler that sends errors as problem documents. */
export function errorHandler({
  engine,
  avatars,
  outageLog,
}: Pick<Context, 'engine' | 'avatars' | 'outageLog'>): ErrorHandler {
  const findUnavailable = (error: unknown): Resource | undefined => {
    // If a client stops sending its body, the error has a status and the code ECONNRESET, like a lost connection to the
    // database.
    if ((error as Partial<FastifyError>).statusCode === 400) return undefined;
    if (engine.isUnavailable(error)) return 'database';
    return avatars.isUnavailable(error) ? 'avatar storage' : undefined;
  };
  return (error, request, reply) => {
    const unavailableResource = findUnavailable(error);
    const problem = problemOf(error, unavailableResource !== undefined);
    if (unavailableResource) outageLog.report(unavailableResource, error, request.log);
    else logFailure(error, problem, request);
    return sendProblem(problem, request, reply);
  };
}

/** Never copies messages of libraries or the database, because they can contain data of other users. */
function problemOf(error: unknown, isUnavailable: boolean): HttpProblem {
  if (error instanceof HttpProblem) return error;
  if (error instanceof RateExceededError) {
    const headers = { 'retry-after': String(error.retryAfterSeconds) };
    return new HttpProblem(error.code, error.message, { headers });
  }
  if (error instanceof ScopeMissingError) {
    // RFC 6750, section 3.1.
    const challenge = `Bearer error="insufficient_scope", scope="${error.scope}"`;
    return new HttpProblem(error.code, error.message, {
      headers: { 'www-authenticate': challenge },
    });
  }
  if (error instanceof DomainError) {
    return new HttpProblem(error.code, error.message, { pointers: error.pointers });
  }
  if (isUnavailable) return unavailable();
  return explainValidation(error) ?? explainFrameworkError(error as FastifyError) ?? internal();
}

function logFailure(error: unknown, problem: HttpProblem, request: FastifyRequest): void {
  const status = PROBLEM_STATUSES[problem.code];
  if (status === 500) request.log.error({ err: error }, 'request failed');
  // Rejections under overload have only their line of `logRequests`, because another one would add to the load.
  else if (status === 503 && !isDeliberate(error)) request.log.warn({ err: error }, 'unavailable');
}

/** Whether a 503 is a decision of the server, such as load shedding, instead of the result of an error. */
function isDeliberate(error: unknown): boolean {
  return (
    error instanceof DomainError || (error instanceof HttpProblem && error.cause === undefined)
  );
}

function sendProblem(
  problem: HttpProblem,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const status = PROBLEM_STATUSES[problem.code];
  removeUndeclaredLimits(status, request, reply);
  for (const [name, value] of Object.entries(problem.headers)) reply.header(name, value);
  if (status === 503) reply.header('retry-after', String(RETRY_AFTER_SECONDS));
  if (status === 401) reply.header('www-authenticate', challenge(problem, request));
  const document = problemDocument(problem.code, problem.message, request.id, problem.pointers);
  return reply
    .header('cache-control', 'no-store')
    .type('application/problem+json')
    .code(status)
    .send(JSON.stringify(document));
}

/** Removes the headers of a rate limit, unless the contract declares them for this error. */
function removeUndeclaredLimits(
  status: number,
  { routeOptions }: FastifyRequest,
  reply: FastifyReply,
): void {
  const { operation } = routeOptions.config;
  if (!operation || operation.responses[status]?.headers?.['RateLimit-Limit']) return;
  for (const name of RATE_LIMIT_HEADERS) reply.removeHeader(name);
}

/** Returns the WWW-Authenticate header. It reports an error only for a rejected token (RFC 6750, section 3.1). */
function challenge({ code }: HttpProblem, { headers }: FastifyRequest): string {
  const isTokenInvalid =
    code === 'unauthenticated' && bearerToken(headers.authorization) !== undefined;
  return isTokenInvalid ? 'Bearer error="invalid_token"' : 'Bearer';
}

function explainFrameworkError({
  code,
  statusCode,
  headers,
}: Partial<FastifyError> & { headers?: Record<string, string> }): HttpProblem | undefined {
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return bodyTooLarge();
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new HttpProblem(
        'invalid_request',
        'The length of the request body does not match its Content-Length.',
      );
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new HttpProblem('unsupported_media_type', 'The Content-Type header is malformed.');
    case 'FST_STATIC_FORBIDDEN_PATH':
      return notFound();
  }
  switch (statusCode) {
    case 400:
      return new HttpProblem('invalid_request', 'The request is malformed.');
    // @fastify/static throws these for files.
    case 412:
      return preconditionFailed();
    case 416:
      return rangeNotSatisfiable(headers);
  }
  return undefined;
}

function internal(): HttpProblem {
  return new HttpProblem(
    'internal',
    'An internal error occurred. Quote the request_id if you report it.',
  );
}
