import type { RateLimiterAbstract } from 'rate-limiter-flexible';

/** Rate-limit counters, shared by all processes of a service. */
export interface RateLimitStore {
  /**
   * Opens a counter. Creates it if it is missing.
   * @param points   allowed attempts per key and period
   * @param duration length of the period in seconds
   * @throws OperatorError if the store cannot be used
   */
  openCounter(name: string, points: number, duration: number): Promise<RateLimiterAbstract>;
  deleteExpired(): Promise<void>;
  close(): Promise<void>;
}
