import type { Credentials } from './accounts.ts';
import { operations } from './contract.ts';
import {
  explainNetworkError,
  isNotImplemented,
  REQUEST_TIMEOUT_MS,
  UnexpectedResponse,
} from './exchange.ts';
import { shorten, toOneLine } from './text.ts';
import { openWorld, type Servers } from './world.ts';

/** Maximum length of the text of a response in a message. */
const MAX_MESSAGE_LENGTH = 400;

/** Prevents the verification. Its message says what to do. */
export class NotVerifiedError extends Error {}

/** Ends the verification at the user's request. */
export class InterruptedError extends Error {}

/**
 * Creates the test data on a running server. Disposing of `cleanup` deletes it.
 * @param interruption ends the creation, which then deletes the data and rejects with the reason
 * @throws NotVerifiedError if the server does not respond like the API
 */
export async function prepareServer(
  url: string,
  credentials: Credentials | undefined,
  cleanup: AsyncDisposableStack,
  interruption?: AbortSignal,
): Promise<Servers> {
  await requireApi(url);
  try {
    const world = await openWorld(url, credentials, interruption);
    cleanup.defer(() => world.close());
    return { world, specialWorlds: {} };
  } catch (error) {
    throw reasonOf(error, interruption);
  }
}

/** Returns the error to throw after the creation of the test data has failed with `error`. */
function reasonOf(error: unknown, interruption: AbortSignal | undefined): unknown {
  // The data could not be deleted, either.
  if (error instanceof SuppressedError) {
    return new SuppressedError(error.error, reasonOf(error.suppressed, interruption));
  }
  if (interruption?.aborted) return interruption.reason;
  return new NotVerifiedError(`Could not create the test data: ${explain(error)}`);
}

async function requireApi(url: string): Promise<void> {
  const { href, pathname } = new URL(`${url}/api/profile/me`);
  const response = await send('GET', href);
  const { status, headers } = response;
  const location = headers.get('location');
  if (location !== null) {
    throw new NotVerifiedError(`${url} redirects to ${location}. Pass the URL of that server.`);
  }
  if (isOfApi(response)) return;
  // The server may not implement this operation.
  for (const { method, path, authentication } of operations) {
    // An empty body is invalid, so the request changes nothing.
    const isHarmless = method === 'GET' || authentication === 'none';
    if (isHarmless && isOfApi(await send(method, url + path))) return;
  }
  const type = headers.get('content-type') ?? 'no content type';
  throw new NotVerifiedError(
    `${url} does not serve this API: GET ${pathname} returned ${status} (${type}). Check the URL, which does not include /api.`,
  );

  async function send(method: string, target: string): Promise<ReadResponse> {
    try {
      const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
      const response = await fetch(target, {
        method,
        redirect: 'manual',
        signal,
        ...(method !== 'GET' && { body: '{}', headers: { 'content-type': 'application/json' } }),
      });
      const { status, headers } = response;
      return { status, headers, body: await response.text() };
    } catch (error) {
      throw new NotVerifiedError(`Cannot reach ${url}: ${explainNetworkError(error)}.`);
    }
  }
}

interface ReadResponse {
  status: number;
  headers: Headers;
  body: string;
}

function isOfApi({ status, headers, body }: ReadResponse): boolean {
  if (isNotImplemented(status, body)) return false;
  // The contract declares 401. A faulty implementation of the API returns at least JSON.
  return status === 401 || (headers.get('content-type')?.includes('json') ?? false);
}

function explain(error: unknown): string {
  if (error instanceof UnexpectedResponse && error.response !== undefined) {
    return shorten(toOneLine(`${error.request} returned ${error.response}`), MAX_MESSAGE_LENGTH);
  }
  return explainNetworkError(error);
}
