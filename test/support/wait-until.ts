import { setTimeout as sleep } from 'node:timers/promises';

const POLL_INTERVAL_MS = 20;

/**
 * Waits until a condition is met.
 * @param description the condition as a sentence, for the error message
 * @throws Error after the timeout
 */
export async function waitUntil(
  description: string,
  condition: () => unknown,
  timeoutMs = 40_000,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > deadline) {
      throw new Error(`Not within ${timeoutMs / 1000} s: ${description}`);
    }
    await sleep(POLL_INTERVAL_MS);
  }
}
