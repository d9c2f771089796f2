import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { RateLimiterAbstract } from 'rate-limiter-flexible';
import type { Config } from '../config.ts';
import { openSqliteRateLimitStore } from './sqlite/rate-limit-store.ts';

/** Rate-limit counters, shared by all processes with the same data folder. */
export interface RateLimitStore {
  /**
   * Opens a counter. Creates it if it is missing.
   * @param points   allowed attempts per key and period
   * @param duration length of the period in seconds
   */
  openCounter(name: string, points: number, duration: number): Promise<RateLimiterAbstract>;
  deleteExpired(): void;
  close(): void;
}

/**
 * Opens the store in the data folder. Creates the folder if it is missing. Damaged counters are reset.
 * @param onReset called with the error after damaged counters have been reset, now or later
 * @throws OperatorError if the store cannot be used
 */
export async function openRateLimitStore(
  { dataDir }: Pick<Config, 'dataDir'>,
  onReset: (error: unknown) => void,
): Promise<RateLimitStore> {
  await mkdir(dataDir, { recursive: true });
  return openSqliteRateLimitStore(join(dataDir, 'limits.sqlite'), onReset);
}
