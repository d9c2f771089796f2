import rateLimit from '@fastify/rate-limit';
import type { FastifyInstance, FastifyReply, onRequestHookHandler } from 'fastify';
import type { Config } from '../config.ts';
import { DomainError } from '../errors.ts';
import type { RateLimit } from '../rate-limits/rate-limits.ts';
import { clientKey } from './client-key.ts';
import { HttpProblem, PROBLEM_STATUSES } from './problems.ts';

const MINUTE_MS = 60_000;

/**
 * Runs `work` if the rate limit allows it, and sets the RateLimit headers of the reply.
 *
 * Work that fails with 400 or 503 does not count: it was rejected as invalid or because of overload.
 * @param limit null for no limit
 * @param key   identifies the limited client, account or session
 * @throws HttpProblem `too_many_requests`
 */
export async function withRateLimit<T>(
  limit: RateLimit | null,
  key: string,
  reply: FastifyReply,
  work: () => Promise<T>,
): Promise<T> {
  if (limit === null) return work();
  const attempt = await limit.beginAttempt(key);
  reply.headers({
    'ratelimit-limit': attempt.limit,
    'ratelimit-remaining': attempt.remaining,
    'ratelimit-reset': attempt.resetSeconds,
  });
  if (!attempt.isAllowed) throw tooManyRequests(attempt.resetSeconds);
  let result: T;
  try {
    result = await work();
  } catch (error) {
    await attempt.end(isUncounted(error) ? 'uncounted' : 'failure');
    throw error;
  }
  await attempt.end('success');
  return result;
}

function isUncounted(error: unknown): boolean {
  return error instanceof DomainError && [400, 503].includes(PROBLEM_STATUSES[error.code]);
}

/**
 * Returns the hooks that limit public reads per client, or an empty array if there is no limit. Each process counts
 * separately.
 */
export async function limitPublicReads(
  app: FastifyInstance,
  { hasRateLimits, publicRateLimit }: Pick<Config, 'hasRateLimits' | 'publicRateLimit'>,
): Promise<onRequestHookHandler[]> {
  if (!hasRateLimits || publicRateLimit === null) return [];
  await app.register(rateLimit, {
    global: false,
    enableDraftSpec: true,
    max: publicRateLimit,
    timeWindow: MINUTE_MS,
    keyGenerator: clientKey,
    errorResponseBuilder: (_request, { ttl }) =>
      tooManyRequests(Math.max(1, Math.ceil(ttl / 1000))),
  });
  // All routes share one hook, because the library counts separately for each hook.
  return [app.rateLimit()];
}

function tooManyRequests(seconds: number): HttpProblem {
  return new HttpProblem(
    'too_many_requests',
    `Too many requests. Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`,
    { headers: { 'retry-after': String(seconds) } },
  );
}
