import { setTimeout as sleep } from 'node:timers/promises';

/** The longest time to wait for a rate limit. A quota per hour ends the check that it affects instead. */
const MAX_RETRY_AFTER_SECONDS = 120;

/** Maximum number of waits for the same request. */
const MAX_WAITS = 10;

/** When the waits that have been reported end, by operation. */
const reportedUntil = new Map<string, number>();

/**
 * Returns how long to wait before the request of a response is repeated, or undefined if it should not be repeated.
 * @param waits how often the request has been repeated
 */
export function secondsToWait(
  { status, headers }: Pick<Response, 'status' | 'headers'>,
  waits: number,
): number | undefined {
  if ((status !== 429 && status !== 503) || waits >= MAX_WAITS) return undefined;
  const seconds = Number.parseInt(headers.get('retry-after') ?? '', 10);
  return seconds <= MAX_RETRY_AFTER_SECONDS ? seconds : undefined;
}

/** Waits before a request is repeated, and says so. */
export async function waitFor(
  operationId: string,
  seconds: number,
  interruption?: AbortSignal,
): Promise<void> {
  const end = performance.now() + seconds * 1_000;
  if (seconds > 1 && end > (reportedUntil.get(operationId) ?? 0) + 1_000) {
    reportedUntil.set(operationId, end);
    console.error(`Waiting ${seconds} s, as the server asks for ${operationId}.`);
  }
  await sleep(seconds * 1_000, undefined, { ...(interruption && { signal: interruption }) });
}
