import { BurstyRateLimiter, type RateLimiterAbstract, RateLimiterRes } from 'rate-limiter-flexible';

/** Limits the attempts of each client, account or session. */
export interface RateLimit {
  /** Counts an attempt before it is made, so that concurrent attempts cannot exceed the limit. */
  beginAttempt(key: string): Promise<Attempt>;
}

export interface Attempt {
  isAllowed: boolean;
  /** Allowed attempts per period. */
  limit: number;
  /** Allowed attempts that remain in this period. `end` adds those that it takes back. */
  remaining: number;
  /** Seconds until the whole limit remains. */
  resetSeconds: number;
  /** Seconds until another attempt may be allowed. */
  retryAfterSeconds: number;
  /** Must be called once after an allowed attempt. */
  end(outcome: 'success' | 'failure' | 'rejection'): Promise<void>;
}

/** The counters of a rate limit, and the attempts that they count. */
export interface RateLimitRule {
  counter: RateLimiterAbstract;
  /** Allows further attempts, at a slower rate, once `counter` allows none. */
  overflowCounter?: RateLimiterAbstract;
  /** The outcomes that count. By default, all except rejections do. */
  counts?: 'failures' | 'successes' | 'all';
  /** Whether a success resets the counters. */
  isResetBySuccess?: boolean;
}

/** @param hashOf returns the key of a client, account or session in the counters */
export function createRateLimit(
  { counter, overflowCounter, counts, isResetBySuccess = false }: RateLimitRule,
  hashOf: (key: string) => string,
): RateLimit {
  const counters = overflowCounter ? [counter, overflowCounter] : [counter];
  const limiter = overflowCounter ? new BurstyRateLimiter(counter, overflowCounter) : counter;
  /** Attempts of each key that this process has begun and not ended. */
  const pendingAttempts = new Map<string, number>();

  const reset = async (hash: string) => {
    for (const each of counters) await each.delete(hash);
  };
  /** Takes back an attempt. */
  const forget = async (hash: string, { consumedPoints }: RateLimiterRes) => {
    await decrement(counter, hash);
    if (overflowCounter && consumedPoints > counter.points) await decrement(overflowCounter, hash);
  };
  const addPending = (hash: string, change: number) => {
    const pending = (pendingAttempts.get(hash) ?? 0) + change;
    if (pending > 0) pendingAttempts.set(hash, pending);
    else pendingAttempts.delete(hash);
  };

  return {
    async beginAttempt(key) {
      const hash = hashOf(key);
      let consumption = await consume(limiter, hash);
      if (consumption.result.msBeforeNext > counter.duration * 1000) {
        // The system clock was ahead when this period began, so the period would last too long.
        await reset(hash);
        consumption = await consume(limiter, hash);
      }
      const { result, isAllowed } = consumption;
      const periodEndsAt = Date.now() + result.msBeforeNext;
      // Pending attempts that succeed will not count.
      const pending = pendingAttempts.get(hash) ?? 0;
      const mayBeAllowedSoon =
        counts === 'failures' && !isAllowed && result.consumedPoints - pending <= counter.points;
      if (isAllowed) addPending(hash, 1);
      // Otherwise, rejected attempts would still use up the limit after pending ones have been taken back.
      else await forget(hash, result);
      // The overflow counter allows another attempt before the period of the other one ends.
      const hasOverflowed = overflowCounter && result.consumedPoints > counter.points;
      const period = hasOverflowed ? await counter.get(hash) : result;
      const attempt: Attempt = {
        isAllowed,
        limit: counter.points,
        remaining: result.remainingPoints,
        resetSeconds: toSeconds(period?.msBeforeNext ?? 0),
        retryAfterSeconds: mayBeAllowedSoon ? 1 : toSeconds(result.msBeforeNext),
        async end(outcome) {
          const isUncounted =
            (outcome === 'rejection' && counts !== 'all') ||
            (outcome === 'success' && counts === 'failures') ||
            (outcome === 'failure' && counts === 'successes');
          try {
            if (outcome === 'success' && isResetBySuccess) {
              await reset(hash);
              Object.assign(attempt, { remaining: counter.points, resetSeconds: 1 });
            }
            // The next period does not count the attempt.
            else if (isUncounted && Date.now() < periodEndsAt) {
              await forget(hash, result);
              attempt.remaining = Math.min(counter.points, attempt.remaining + 1);
            }
          } finally {
            addPending(hash, -1);
          }
        },
      };
      return attempt;
    },
  };
}

function toSeconds(milliseconds: number): number {
  return Math.max(1, Math.ceil(milliseconds / 1000));
}

async function decrement(counter: RateLimiterAbstract, key: string): Promise<void> {
  const { consumedPoints } = await counter.reward(key);
  // A success has reset the counter meanwhile. A negative count would allow more attempts than the limit.
  if (consumedPoints < 0) await counter.delete(key);
}

async function consume(
  limiter: Pick<RateLimiterAbstract, 'consume'>,
  key: string,
): Promise<{ result: RateLimiterRes; isAllowed: boolean }> {
  try {
    return { result: await limiter.consume(key), isAllowed: true };
  } catch (rejection) {
    // The library rejects with the result if the limit is exceeded, and with an error otherwise.
    if (!(rejection instanceof RateLimiterRes)) throw rejection;
    return { result: rejection, isAllowed: false };
  }
}
