import { createHmac, type KeyObject } from 'node:crypto';
import type { Action } from '../../generated/counted-operations.gen.ts';
import type { Config } from '../config.ts';
import type { StopDeadline } from '../database/kind.ts';
import { databaseKind } from '../database/open.ts';
import {
  createLoginDelays,
  FAILURES_OF_MAX_DELAY,
  LOGIN_DELAY_PERIOD_SECONDS,
  type LoginDelays,
} from './login-delays.ts';
import { createRateLimit, type RateLimit, type RateLimitRule } from './rate-limit.ts';

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
  /** Uploads of an avatar per account, also rejected ones, because reading and decoding them is the same work. */
  avatar: RateLimit | null;
  /** Wrong current passwords per session. */
  password: RateLimit | null;
  /** Failed attempts to join a space, per account. */
  join: RateLimit | null;
  /** Failed attempts to join a space, per network. */
  joinFromNetwork: RateLimit | null;
  /** Requests to reset a password, per address, whether an account has it or not. */
  passwordResets: RateLimit | null;
  /** Requests for mail, per client or account. */
  mail: RateLimit | null;
  /** Mail per mailbox. */
  mailToMailbox: RateLimit | null;
  /** Mail that requests from a network cause, also by registrations. */
  mailFromNetwork: RateLimit | null;
  /** Actions with a quota per account. Each limit counts those of all accounts in a network together. */
  networkActions: Readonly<Record<Action, RateLimit>> | null;
  deleteExpired(): Promise<void>;
  close(): Promise<void>;
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
  passwordResets: null,
  mail: null,
  mailToMailbox: null,
  mailFromNetwork: null,
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
  {
    secretKey,
    onReset,
    stopDeadline,
  }: {
    secretKey: KeyObject;
    onReset: (error: unknown) => void;
    stopDeadline?: StopDeadline | undefined;
  },
): Promise<RateLimits> {
  if (rates === null) return NO_LIMITS;
  const location = { dataDir, databaseUrl };
  const kind = await databaseKind(location);
  const store = await kind.openRateLimitStore(location, onReset, stopDeadline);
  // With a secret key, so that guessing cannot reveal the addresses of deleted accounts in the store.
  const hashOf = (key: string) => createHmac('sha256', secretKey).update(key).digest('base64url');
  const open = async (
    name: string,
    points: number,
    seconds: number,
    rule?: Partial<RateLimitRule>,
  ) => {
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
      await store.openCounter('login_delay', FAILURES_OF_MAX_DELAY, LOGIN_DELAY_PERIOD_SECONDS),
      hashOf,
    ),
    register: await open('register', 60, MINUTE_SECONDS),
    username: await open('username', 20, 5 * MINUTE_SECONDS),
    // Named `picture`, because existing databases have a table with this name.
    avatar: await open('picture', 60, 30 * MINUTE_SECONDS, { counts: 'all' }),
    // A burst of 100 attempts in 500 seconds, then one every 5 seconds.
    password: await open('password', 100, 500, {
      overflowCounter: await store.openCounter('password_slowly', 1, 5),
      ...failedLogins,
    }),
    // Not reset by a success. Otherwise a guesser could reset them at any time by joining a public space.
    join: await open('failed_joins', 30, HOUR_SECONDS, { counts: 'failures' }),
    joinFromNetwork: await open('failed_joins_from_network', 300, HOUR_SECONDS, {
      counts: 'failures',
    }),
    passwordResets: await open('password_resets', 5, HOUR_SECONDS, { counts: 'successes' }),
    mail: await open('mail', 20, HOUR_SECONDS, { counts: 'successes' }),
    mailToMailbox: await open('mail_to_mailbox', 5, HOUR_SECONDS, { counts: 'successes' }),
    mailFromNetwork: await open('mail_from_network', 300, HOUR_SECONDS, { counts: 'successes' }),
    networkActions: {
      space: await openForNetwork('space'),
      message: await openForNetwork('message'),
      change: await openForNetwork('change'),
    },
    deleteExpired: () => store.deleteExpired(),
    close: () => store.close(),
  };
}
