import { setTimeout as sleep } from 'node:timers/promises';

const MAX_ATTEMPTS = 20;

type Answer = { status: number | undefined; headers: Headers };

/**
 * Sends a request, up to 20 times while the service returns 503 with Retry-After.
 * @param send returns a response, or the result of a generated client
 * @returns the last response
 */
export async function retryWhileUnavailable<Result extends Answer | { response?: Response }>(
  send: () => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    const result = await send();
    const seconds = retryAfter('headers' in result ? result : result.response);
    if (seconds === undefined || attempt === MAX_ATTEMPTS) return result;
    // At random, so that clients that were rejected together do not return together.
    await sleep(1000 * seconds * (0.5 + Math.random()));
  }
}

/** Returns after how many seconds a request can be repeated; undefined if the service is available. */
export function retryAfter(answer: Answer | undefined): number | undefined {
  if (answer?.status !== 503) return undefined;
  return Number(answer.headers.get('retry-after')) || undefined;
}

/** `fetch` that repeats a request as above. */
export function fetchWhileUnavailable(
  input: string | URL | Request,
  init?: RequestInit,
): Promise<Response> {
  // A request with a body can be sent only once.
  return retryWhileUnavailable(() => fetch(input instanceof Request ? input.clone() : input, init));
}
