import type { ApiError } from './errors.ts';

const MIN_DELAY_MS = 1_000;
const MAX_DELAY_MS = 30_000;

/** Returns the time until the next attempt in milliseconds: what `Retry-After` says, or an increasing one. */
export function retryDelay(failures: number, { retryAfter }: ApiError): number {
  if (retryAfter !== null) return retryAfter * 1000;
  const delay = Math.min(MIN_DELAY_MS * 2 ** failures, MAX_DELAY_MS);
  // Clients that lost their connections at the same time must not all return at the same time.
  return delay * (0.5 + Math.random() / 2);
}
