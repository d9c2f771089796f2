import cluster from 'node:cluster';
import type {
  DoneFuncWithErrOrRes,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  onRequestHookHandler,
  RouteHandlerMethod,
} from 'fastify';
import {
  COUNTED_OPERATIONS,
  type CountedOperation,
} from '../../generated/counted-operations.gen.ts';
import { PROBLEM_STATUSES } from '../../generated/problem-codes.gen.ts';
import { mailboxKey } from '../accounts/email.ts';
import type { Config } from '../config.ts';
import type { Context } from '../context.ts';
import { DomainError, RateExceededError } from '../errors.ts';
import { shareReads } from '../rate-limits/cluster.ts';
import type { Attempt, RateLimit } from '../rate-limits/rate-limit.ts';
import type { RateLimits } from '../rate-limits/rate-limits.ts';
import { type ClientKeys, createReadLimits } from '../rate-limits/read-limits.ts';
import { clientKeys, networkKey } from './client-key.ts';

/**
 * Runs `work` if the rate limit allows it, and sets the RateLimit headers of the reply.
 *
 * Work that is rejected with 400, 429 or 503 does not count, except for uploads: the request was invalid or beyond
 * another limit, or the server was overloaded. Work that fails because the database or the avatar storage is
 * unavailable counts as a failure.
 * @param limit null for no limit
 * @param key   identifies the limited client, account or session
 * @throws RateExceededError
 */
export async function withRateLimit<T>(
  limit: RateLimit | null,
  key: string,
  reply: FastifyReply,
  work: () => Promise<T>,
): Promise<T> {
  if (limit === null) return work();
  const attempt = await limit.beginAttempt(key);
  try {
    return await runAttempt(attempt, work);
  } finally {
    // After the work, because its outcome decides whether it counts.
    setRateLimitHeaders(reply, attempt);
  }
}

/**
 * Like `withRateLimit`, but sets no headers. For limits on top of another one, such as those of a whole network. A
 * client cannot tell from their counts how many requests it has left.
 * @throws RateExceededError
 */
export async function withAdditionalLimit<T>(
  limit: RateLimit | null,
  key: string,
  work: () => Promise<T>,
): Promise<T> {
  return limit === null ? work() : runAttempt(await limit.beginAttempt(key), work);
}

/**
 * Runs work that causes mail if the limits of the mailbox and of the client's network allow it.
 * @throws RateExceededError
 */
export async function withMailLimits<T>(
  { rateLimits, config }: Pick<Context, 'rateLimits' | 'config'>,
  request: FastifyRequest,
  address: string,
  work: () => Promise<T>,
): Promise<T> {
  if (config.mail === null) return work();
  return withAdditionalLimit(rateLimits.mailFromNetwork, networkKey(request), () =>
    withAdditionalLimit(rateLimits.mailToMailbox, mailboxKey(address), work),
  );
}

/** Counts the successful requests of an operation against the quota of all accounts in a network together. */
export function countInNetwork(
  { networkActions }: Pick<RateLimits, 'networkActions'>,
  operation: CountedOperation,
  handler: RouteHandlerMethod,
): RouteHandlerMethod {
  if (networkActions === null) return handler;
  const limit = networkActions[COUNTED_OPERATIONS[operation]];
  return function (request, reply) {
    return withAdditionalLimit(limit, networkKey(request), async () =>
      handler.call(this, request, reply),
    );
  };
}

/**
 * Delays a login to an account with many failed logins. Records a failed login for later delays, and counts delayed and
 * failed logins in the metrics.
 */
export async function withLoginDelay<T>(
  { rateLimits: { loginDelays }, metrics }: Pick<Context, 'rateLimits' | 'metrics'>,
  emailKey: string,
  login: () => Promise<T>,
): Promise<T> {
  if (await loginDelays?.wait(emailKey)) metrics.countDelayedLogin();
  try {
    return await login();
  } catch (error) {
    if (error instanceof DomainError && error.code === 'credentials_incorrect') {
      metrics.countFailedLogin();
      await record(async () => loginDelays?.recordFailure(emailKey));
    }
    throw error;
  }
}

async function runAttempt<T>(attempt: Attempt, work: () => Promise<T>): Promise<T> {
  if (!attempt.isAllowed) throw tooManyRequests(attempt.retryAfterSeconds);
  let result: T;
  try {
    result = await work();
  } catch (error) {
    if (error instanceof DomainError) {
      await record(() => attempt.end(isRejection(error) ? 'rejection' : 'failure'));
    } else {
      // Usually an outage of the database. The response must not wait for another connection, which fails, too.
      attempt.end('failure').catch(() => {});
    }
    throw error;
  }
  await record(() => attempt.end('success'));
  return result;
}

/** Updates a counter. Never rejects, because the work is done, and the client must learn its outcome. */
async function record(update: () => Promise<void>): Promise<void> {
  try {
    await update();
  } catch (error) {
    process.emitWarning(error as Error);
  }
}

/** Whether the work was rejected as invalid, by another limit or because of overload. */
function isRejection(error: DomainError): boolean {
  return [400, 429, 503].includes(PROBLEM_STATUSES[error.code]);
}

/** Otherwise, clients that repeat rejected requests at once would keep the process busy with rejections. */
export const REJECTION_DELAY_MS = 100;

/** See `limitReads`. */
export type LimitReads = (
  keysOf?: (request: FastifyRequest) => ClientKeys,
  weight?: number,
) => onRequestHookHandler[];

/**
 * Returns a function that returns the hooks of routes with a limit of reads, or an empty array if there is no limit.
 * `keysOf` returns whose reads to count, by default those of the client. `weight` is the number of reads that a
 * request counts as. Workers exchange their counts about once a second, so the limit is approximate.
 */
export function limitReads(
  app: FastifyInstance,
  { publicRateLimit }: Pick<Config, 'publicRateLimit'>,
): LimitReads {
  if (publicRateLimit === null) return () => [];
  const limits = createReadLimits(publicRateLimit);
  if (cluster.isWorker) {
    const stop = shareReads(limits);
    app.addHook('onClose', async () => stop());
  }
  return (keysOf = clientKeys, weight = 1) => [
    (request, reply, done) => {
      const read = limits.count(keysOf(request), weight);
      setRateLimitHeaders(reply, read);
      if (read.isAllowed) done();
      else setTimeout(done, REJECTION_DELAY_MS, tooManyRequests(read.retryAfterSeconds));
    },
  ];
}

/** Shows the quota against which a successful operation counts, and one that rejects an operation. */
export function showQuota(
  { caller }: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  done: DoneFuncWithErrOrRes,
): void {
  const quota = caller?.quota;
  if (quota && (reply.statusCode < 300 || reply.statusCode === 429)) {
    setRateLimitHeaders(reply, quota);
    reply.header('ratelimit-policy', `${quota.limit};w=${quota.periodSeconds}`);
  }
  done(null, payload);
}

export const RATE_LIMIT_HEADERS = ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'];

function setRateLimitHeaders(
  reply: FastifyReply,
  { limit, remaining, resetSeconds }: Pick<Attempt, 'limit' | 'remaining' | 'resetSeconds'>,
): void {
  reply.headers({
    'ratelimit-limit': limit,
    'ratelimit-remaining': remaining,
    'ratelimit-reset': resetSeconds,
  });
}

function tooManyRequests(seconds: number): RateExceededError {
  return new RateExceededError('Too many requests.', seconds);
}
