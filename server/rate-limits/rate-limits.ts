import { createHmac } from 'node:crypto';
import { BurstyRateLimiter, type RateLimiterAbstract, RateLimiterRes } from 'rate-limiter-flexible';
import type { Config } from '../config.ts';
import { openRateLimitStore } from '../database/open.ts';

/** The rate limits of operations. A limit is null if the operator has turned rate limits off. */
export interface RateLimits {
  /** Failed logins per email address and client. */
  login: RateLimit | null;
  /** Registrations per client. */
  register: RateLimit | null;
  /** Changes of the username per account. */
  username: RateLimit | null;
  /** Changes of the avatar per account. */
  avatar: RateLimit | null;
  /** Wrong current passwords per session. */
  password: RateLimit | null;
  deleteExpired(): Promise<void>;
  close(): Promise<void>;
}

export interface RateLimit {
  /** Counts an attempt before it is made, so that concurrent attempts cannot exceed the limit. */
  beginAttempt(key: string): Promise<Attempt>;
}

export interface Attempt {
  isAllowed: boolean;
  /** Allowed attempts per period. */
  limit: number;
  /** Allowed attempts that remain in this period. */
  remaining: number;
  /** Seconds until the next period, or until another attempt may be allowed. */
  resetSeconds: number;
  /** Must be called once after an allowed attempt. An `uncounted` attempt does not count against the limit. */
  end(outcome: 'success' | 'failure' | 'uncounted'): Promise<void>;
}

/** The counters of a rate limit, and the attempts that they count. */
interface Rule {
  counter: RateLimiterAbstract;
  /** Allows further attempts, at a slower rate, once `counter` allows none. */
  overflowCounter?: RateLimiterAbstract;
  /** Whether a success resets the counters. */
  countsOnlyFailures?: boolean;
}

const MINUTE_SECONDS = 60;

/**
 * Opens the rate limits. All processes on a data folder share their counters.
 * @param secretKey of the HMAC by which the store identifies addresses and accounts
 * @param onReset called with the error after damaged counters have been reset
 * @throws OperatorError if the counters cannot be stored
 */
export async function openRateLimits(
  config: Pick<Config, 'dataDir' | 'hasRateLimits'>,
  { secretKey, onReset }: { secretKey: Uint8Array; onReset: (error: unknown) => void },
): Promise<RateLimits> {
  if (!config.hasRateLimits) {
    return {
      login: null,
      register: null,
      username: null,
      avatar: null,
      password: null,
      async deleteExpired() {},
      async close() {},
    };
  }
  const store = await openRateLimitStore(config, onReset);
  const create = (rule: Rule) => createRateLimit(rule, secretKey);
  return {
    login: create({
      counter: await store.openCounter('login', 30, 5 * MINUTE_SECONDS),
      countsOnlyFailures: true,
    }),
    register: create({ counter: await store.openCounter('register', 60, MINUTE_SECONDS) }),
    username: create({
      counter: await store.openCounter('username', 20, 5 * MINUTE_SECONDS),
    }),
    // Named `picture`, because existing databases have a table with this name.
    avatar: create({
      counter: await store.openCounter('picture', 60, 30 * MINUTE_SECONDS),
    }),
    // A burst of 100 attempts in 500 seconds, then one every 5 seconds.
    password: create({
      counter: await store.openCounter('password', 100, 500),
      overflowCounter: await store.openCounter('password_slowly', 1, 5),
      countsOnlyFailures: true,
    }),
    deleteExpired: () => store.deleteExpired(),
    close: () => store.close(),
  };
}

function createRateLimit(
  { counter, overflowCounter, countsOnlyFailures = false }: Rule,
  secretKey: Uint8Array,
): RateLimit {
  const counters = overflowCounter ? [counter, overflowCounter] : [counter];
  const limiter = overflowCounter ? new BurstyRateLimiter(counter, overflowCounter) : counter;
  /** Attempts of each key that this process has begun and not ended. */
  const pendingAttempts = new Map<string, number>();

  const reset = async (hash: string) => {
    for (const each of counters) await each.delete(hash);
  };
  const addPending = (hash: string, change: number) => {
    const pending = (pendingAttempts.get(hash) ?? 0) + change;
    if (pending > 0) pendingAttempts.set(hash, pending);
    else pendingAttempts.delete(hash);
  };

  return {
    async beginAttempt(key) {
      // With a secret key, so that nobody can find the addresses of deleted accounts in the store by guessing.
      const hash = createHmac('sha256', secretKey).update(key).digest('base64url');
      let consumption = await consume(limiter, hash);
      if (consumption.result.msBeforeNext > counter.duration * 1000) {
        // The system clock was ahead when this period began, so the period would last too long.
        await reset(hash);
        consumption = await consume(limiter, hash);
      }
      const { result, isAllowed } = consumption;
      // If one of the pending attempts succeeds, the count is reset.
      const pending = pendingAttempts.get(hash) ?? 0;
      const mayBeAllowedSoon =
        countsOnlyFailures && !isAllowed && result.consumedPoints - pending <= counter.points;
      if (isAllowed) addPending(hash, 1);
      return {
        isAllowed,
        limit: counter.points,
        remaining: result.remainingPoints,
        resetSeconds: mayBeAllowedSoon ? 1 : Math.max(1, Math.ceil(result.msBeforeNext / 1000)),
        async end(outcome) {
          try {
            if (outcome === 'success' && countsOnlyFailures) await reset(hash);
            if (outcome === 'uncounted') await counter.reward(hash);
          } finally {
            addPending(hash, -1);
          }
        },
      };
    },
  };
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
