import { setTimeout as sleep } from 'node:timers/promises';
import type { RateLimiterAbstract } from 'rate-limiter-flexible';

/**
 * Delays logins to accounts with many failed logins from any client. Never rejects them, because otherwise anyone could
 * lock out the owner of an account. Accounts that do not exist are delayed like others.
 */
export interface LoginDelays {
  /**
   * Waits for up to 2 seconds. Call it before the password is verified, so that a delayed login holds no resources
   * except its connection.
   * @returns whether the login was delayed
   */
  wait(emailKey: string): Promise<boolean>;
  recordFailure(emailKey: string): Promise<void>;
}

/** Failures in a period before logins are delayed: as many as `loginFromNetwork` allows one network in 5 minutes. */
const UNDELAYED_FAILURES = 50;
const DELAY_PER_FAILURE_MS = 100;
const MAX_DELAY_MS = 2_000;

/** Number of failures that cause the maximum delay. Further ones are counted, too, but do not increase the delay. */
export const FAILURES_OF_MAX_DELAY = UNDELAYED_FAILURES + MAX_DELAY_MS / DELAY_PER_FAILURE_MS;

export const LOGIN_DELAY_PERIOD_SECONDS = 15 * 60;

/**
 * Maximum number of logins that a process delays at the same time. Further ones are not delayed, because rejecting them
 * would lock people out. The queue for password hashing limits their number.
 */
const MAX_DELAYED_LOGINS = 200;

/**
 * @param counter counts failed logins per account
 * @param hashOf  returns the key of an account in the counter
 */
export function createLoginDelays(
  counter: Pick<RateLimiterAbstract, 'get' | 'penalty'>,
  hashOf: (emailKey: string) => string,
): LoginDelays {
  let delayedLogins = 0;
  return {
    async wait(emailKey) {
      const count = await counter.get(hashOf(emailKey));
      const excess = (count?.consumedPoints ?? 0) - UNDELAYED_FAILURES;
      if (excess <= 0 || delayedLogins >= MAX_DELAYED_LOGINS) return false;
      delayedLogins += 1;
      await sleep(Math.min(MAX_DELAY_MS, excess * DELAY_PER_FAILURE_MS));
      delayedLogins -= 1;
      return true;
    },
    async recordFailure(emailKey) {
      await counter.penalty(hashOf(emailKey));
    },
  };
}
