import type { Client } from '../generated/client/index.ts';
import { client as defaultClient } from '../generated/client.gen.ts';
import { listMessages } from '../generated/sdk.gen.ts';
import type { MessagePage } from '../generated/types.gen.ts';
import { ApiError, abortReason, toApiError } from './errors.ts';

/** The maximum of the contract, in seconds. */
const WAIT_SECONDS = 25;

/** A request without a response for this time has lost its connection. */
const REQUEST_TIMEOUT_MS = 40_000;

const MIN_RETRY_DELAY_MS = 1_000;
const MAX_RETRY_DELAY_MS = 30_000;

/** Which space to follow, and from where. */
export interface FollowOptions {
  space_id: string;
  /** `newer_cursor` of a page of the space. By default, follows from now on. */
  after?: string;
  /** Ends the iteration. */
  signal?: AbortSignal;
  /** By default, the exported `client`. */
  client?: Client;
}

/** New, changed and deleted messages of a space since the previous events. */
export type SpaceEvents = Pick<
  MessagePage,
  'items' | 'changed_items' | 'deleted_message_ids' | 'is_complete' | 'newer_cursor'
>;

/**
 * Follows the messages in a space: yields new, changed and deleted messages as soon as there are any, and each new
 * message exactly once. To continue later, pass the `newer_cursor` of the last events as `after`. If `is_complete` is
 * false, changes and deletions are missing: read the messages again from the first page.
 *
 * After a lost connection, 408, 429 and errors of the server, it tries again, at increasing intervals or when
 * `Retry-After` says.
 *
 * @throws {@link ApiError} for other errors, such as 404 when the caller loses access to the space
 * @throws the signal's reason if the signal aborts
 */
export async function* followMessages({
  space_id,
  after,
  signal,
  client = defaultClient,
}: FollowOptions): AsyncGenerator<SpaceEvents, void, undefined> {
  let failures = 0;
  while (true) {
    const startedAt = Date.now();
    const query = after === undefined ? { limit: 1 } : { after, wait: WAIT_SECONDS, limit: 100 };
    let page: MessagePage;
    try {
      page = await requestPage(client, { space_id, ...query }, signal);
      failures = 0;
    } catch (error) {
      if (signal?.aborted) throw abortReason(signal);
      if (!(error instanceof ApiError) || !error.isTemporary) throw error;
      failures += 1;
      await sleep(retryDelay(error, failures), signal);
      continue;
    }
    const isFirst = after === undefined;
    after = page.newer_cursor;
    if (isFirst) continue;
    // Servers before version 0.4.0 do not return `is_complete`.
    const { items, changed_items, deleted_message_ids, is_complete = true, newer_cursor } = page;
    if (!is_complete || items.length + changed_items.length + deleted_message_ids.length > 0) {
      yield { items, changed_items, deleted_message_ids, is_complete, newer_cursor };
    } else {
      // A stopping server responds early. Another one may not serve yet.
      await sleep(Math.max(0, startedAt + MIN_RETRY_DELAY_MS - Date.now()), signal);
    }
  }
}

async function requestPage(
  client: Client,
  query: { space_id: string; after?: string; wait?: number; limit: number },
  signal: AbortSignal | undefined,
): Promise<MessagePage> {
  // Not `AbortSignal.any`, which React Native lacks.
  const controller = new AbortController();
  const abort = () => controller.abort();
  if (signal?.aborted) abort();
  signal?.addEventListener('abort', abort);
  const timer = setTimeout(abort, REQUEST_TIMEOUT_MS);
  try {
    const { data, error, response } = await listMessages({
      client,
      query,
      signal: controller.signal,
      throwOnError: false,
    });
    if (typeof data?.newer_cursor === 'string' && Array.isArray(data.items)) return data;
    throw toApiError(response, error ?? data);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}

function retryDelay({ retryAfter }: ApiError, failures: number): number {
  if (retryAfter !== null) return retryAfter * 1000;
  const delay = Math.min(MIN_RETRY_DELAY_MS * 2 ** (failures - 1), MAX_RETRY_DELAY_MS);
  // Clients that lost their connections at the same time must not all return at the same time.
  return delay * (0.5 + Math.random() / 2);
}

/** @throws the signal's reason if the signal aborts */
function sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(abortReason(signal));
      return;
    }
    const abort = () => {
      clearTimeout(timer);
      reject(abortReason(signal as AbortSignal));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, milliseconds);
    signal?.addEventListener('abort', abort);
  });
}
