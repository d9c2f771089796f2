import { createHmac } from 'node:crypto';
import { BurstyRateLimiter, type RateLimiterAbstract, RateLimiterRes } from 'rate-limiter-flexible';
import type { Action, Config } from '../config.ts';
import { openRateLimitStore } from '../database/open.ts';
import {
  createLoginDelays,
  LOGIN_DELAY_PERIOD_SECONDS,
  type LoginDelays,
  MAX_COUNTED_LOGINS,
} from './login-delays.ts';

/** The rate limits of operations. A limit is null if the operator has turned rate limits off. */
export interface RateLimits {
  /** Failed logins per email address and client. */
  login: RateLimit | null;
  /** Failed logins per email address and network. */
  loginFromNetwork: RateLimit | null;
  loginDelays: LoginDelays | null;
  /** Registrations per client. */
  register: RateLimit | null;
  /** Changes of the username per account. */
  username: RateLimit | null;
  /** Changes of the avatar per account. */
  avatar: RateLimit | null;
  /** Wrong current passwords per session. */
  password: RateLimit | null;
  /** Failed attempts to join a space, per account. */
  join: RateLimit | null;
  /** Failed attempts to join a space, per network. */
  joinFromNetwork: RateLimit | null;
  /** Actions that count against the quotas of accounts, of all accounts in a network together. */
  networkActions: Readonly<Record<Action, RateLimit>> | null;
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
  /** The outcome that counts. By default, both count. */
  counts?: 'failures' | 'successes';
  /** Whether a success resets the counters. */
  isResetBySuccess?: boolean;
}

const MINUTE_SECONDS = 60;
const HOUR_SECONDS = 60 * MINUTE_SECONDS;

/** A network can use up the hourly quotas of this many accounts. */
const ACCOUNTS_PER_NETWORK = 10;

const NO_LIMITS: RateLimits = {
  login: null,
  loginFromNetwork: null,
  loginDelays: null,
  register: null,
  username: null,
  avatar: null,
  password: null,
  join: null,
  joinFromNetwork: null,
  networkActions: null,
  async deleteExpired() {},
  async close() {},
};

/**
 * Opens the rate limits. All processes of a service share their counters.
 * @param secretKey of the HMAC by which the store identifies addresses and accounts
 * @param onReset called with the error after damaged counters have been reset
 * @throws OperatorError if the counters cannot be stored
 */
export async function openRateLimits(
  { dataDir, databaseUrl, quotas: { rates } }: Pick<Config, 'dataDir' | 'databaseUrl' | 'quotas'>,
  { secretKey, onReset }: { secretKey: Uint8Array; onReset: (error: unknown) => void },
): Promise<RateLimits> {
  if (rates === null) return NO_LIMITS;
  const store = await openRateLimitStore({ dataDir, databaseUrl }, onReset);
  // With a secret key, so that guessing cannot reveal the addresses of deleted accounts in the store.
  const hashOf = (key: string) => createHmac('sha256', secretKey).update(key).digest('base64url');
  const open = async (name: string, points: number, seconds: number, rule?: Partial<Rule>) => {
    const counter = await store.openCounter(name, points, seconds);
    return createRateLimit({ counter, ...rule }, hashOf);
  };
  const openForNetwork = (action: Action) =>
    open(`network_${action}`, ACCOUNTS_PER_NETWORK * rates[action].perHour, HOUR_SECONDS, {
      counts: 'successes',
    });
  const failedLogins = { counts: 'failures', isResetBySuccess: true } as const;
  return {
    login: await open('login', 30, 5 * MINUTE_SECONDS, failedLogins),
    loginFromNetwork: await open('login_from_network', 50, 5 * MINUTE_SECONDS, failedLogins),
    loginDelays: createLoginDelays(
      await store.openCounter('login_delay', MAX_COUNTED_LOGINS, LOGIN_DELAY_PERIOD_SECONDS),
      hashOf,
    ),
    register: await open('register', 60, MINUTE_SECONDS),
    username: await open('username', 20, 5 * MINUTE_SECONDS),
    // Named `picture`, because existing databases have a table with this name.
    avatar: await open('picture', 60, 30 * MINUTE_SECONDS),
    // A burst of 100 attempts in 500 seconds, then one every 5 seconds.
    password: await open('password', 100, 500, {
      overflowCounter: await store.openCounter('password_slowly', 1, 5),
      ...failedLogins,
    }),
    // A success does not reset them, because anyone can join a space of their own.
    join: await open('failed_joins', 30, HOUR_SECONDS, { counts: 'failures' }),
    joinFromNetwork: await open('failed_joins_from_network', 300, HOUR_SECONDS, {
      counts: 'failures',
    }),
    networkActions: {
      space: await openForNetwork('space'),
      message: await openForNetwork('message'),
      change: await openForNetwork('change'),
    },
    deleteExpired: () => store.deleteExpired(),
    close: () => store.close(),
  };
}

function createRateLimit(
  { counter, overflowCounter, counts, isResetBySuccess = false }: Rule,
  hashOf: (key: string) => string,
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
      const hash = hashOf(key);
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
        isResetBySuccess && !isAllowed && result.consumedPoints - pending <= counter.points;
      if (isAllowed) addPending(hash, 1);
      return {
        isAllowed,
        limit: counter.points,
        remaining: result.remainingPoints,
        resetSeconds: mayBeAllowedSoon ? 1 : Math.max(1, Math.ceil(result.msBeforeNext / 1000)),
        async end(outcome) {
          const isUncounted =
            outcome === 'uncounted' ||
            (outcome === 'success' && counts === 'failures') ||
            (outcome === 'failure' && counts === 'successes');
          try {
            if (outcome === 'success' && isResetBySuccess) await reset(hash);
            else if (isUncounted) await counter.reward(hash);
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
