import { setTimeout as sleep } from 'node:timers/promises';

/** Sends a request, up to 20 times while the service returns 503 with Retry-After. */
export async function retryWhileUnavailable<Result extends { response?: Response }>(
  send: () => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    const result = await send();
    const seconds = Number(result.response?.headers.get('retry-after'));
    if (result.response?.status !== 503 || !seconds || attempt === 20) return result;
    await sleep(1000 * seconds * (0.5 + Math.random()));
  }
}
