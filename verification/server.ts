import { explainNetworkError, REQUEST_TIMEOUT_MS, UnexpectedResponse } from './exchange.ts';
import { shorten, toOneLine } from './text.ts';
import type { Servers } from './verify.ts';
import { type Credentials, openWorld } from './world.ts';

/** Maximum length of a message with a response. */
const MAX_MESSAGE_LENGTH = 400;

/** Prevents the verification. Its message says what to do. */
export class NotVerifiedError extends Error {}

/**
 * Creates the test data on a running server. Disposing of `cleanup` deletes it.
 * @throws NotVerifiedError if the server does not respond like the API
 */
export async function prepareServer(
  url: string,
  credentials: Credentials | undefined,
  cleanup: AsyncDisposableStack,
): Promise<Servers> {
  await requireApi(url);
  try {
    const world = cleanup.adopt(await openWorld(url, credentials), (each) => each.close());
    return { world, specialWorlds: {} };
  } catch (error) {
    throw new NotVerifiedError(`Could not create the test data: ${explain(error)}`);
  }
}

async function requireApi(url: string): Promise<void> {
  const { href, pathname } = new URL(`${url}/api/profile/me`);
  const response = await fetch(href, {
    redirect: 'manual',
    signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
  }).catch((error) => {
    throw new NotVerifiedError(`Cannot reach ${url}: ${explainNetworkError(error)}.`);
  });
  await response.body?.cancel();
  const { status, headers } = response;
  const location = headers.get('location');
  if (location !== null)
    throw new NotVerifiedError(`${url} redirects to ${location}. Pass the URL of that server.`);
  const type = headers.get('content-type') ?? 'no content type';
  // The contract declares 401. A faulty implementation of the API returns at least JSON.
  const isApi = status === 401 || type.includes('json');
  const hasExtraApi = status === 404 && url.endsWith('/api');
  if (!isApi || hasExtraApi)
    throw new NotVerifiedError(
      `${url} does not serve this API: GET ${pathname} returned ${status} (${type}). Check the URL, which does not include /api.`,
    );
}

function explain(error: unknown): string {
  if (error instanceof SuppressedError)
    return `${explain(error.suppressed)} ${(error.error as Error).message}`;
  if (error instanceof UnexpectedResponse && error.response !== undefined)
    return shorten(toOneLine(`${error.request} returned ${error.response}`), MAX_MESSAGE_LENGTH);
  return explainNetworkError(error);
}
