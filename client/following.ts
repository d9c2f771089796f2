import type { Client } from '../generated/client/index.ts';
import { client as defaultClient } from '../generated/client.gen.ts';
import { listMessages } from '../generated/sdk.gen.ts';
import type { MessagePage } from '../generated/types.gen.ts';
import { ApiError, abortReason, toApiError } from './errors.ts';
import { retryDelay } from './retries.ts';

/** The maximum of the contract, in seconds. */
const WAIT_SECONDS = 25;

/** A request without a response for this time has lost its connection. */
const REQUEST_TIMEOUT_MS = 40_000;

/** Pause between two requests without events, in case that a server does not wait. */
const MIN_INTERVAL_MS = 1_000;

/** Maximum number of events in a response. */
export const MAX_EVENTS = 100;

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
  while (true) {
    const startedAt = Date.now();
    const query =
      after === undefined ? { limit: 1 } : { after, wait: WAIT_SECONDS, limit: MAX_EVENTS };
    const page = await readPage(client, { space_id, ...query }, signal);
    const isFirst = after === undefined;
    after = page.newer_cursor;
    if (isFirst) continue;
    const events = eventsOf(page);
    if (!events.is_complete || countEvents(events) > 0) {
      yield events;
    } else {
      // A stopping server responds early. Another one may not serve yet.
      await sleep(Math.max(0, startedAt + MIN_INTERVAL_MS - Date.now()), signal);
    }
  }
}

/** Returns the events of a page, which do not include its position in other lists. */
export function eventsOf(page: MessagePage): SpaceEvents {
  // Servers before version 0.4.0 do not return `is_complete`.
  const { items, changed_items, deleted_message_ids, is_complete = true, newer_cursor } = page;
  return { items, changed_items, deleted_message_ids, is_complete, newer_cursor };
}

export function countEvents({ items, changed_items, deleted_message_ids }: SpaceEvents): number {
  return items.length + changed_items.length + deleted_message_ids.length;
}

interface PageQuery {
  space_id: string;
  after?: string;
  wait?: number;
  limit: number;
}

/**
 * Returns a page of messages. Repeats the request after temporary errors.
 * @throws {@link ApiError} for other errors
 * @throws the signal's reason if the signal aborts
 */
export async function readPage(
  client: Client,
  query: PageQuery,
  signal: AbortSignal | undefined,
): Promise<MessagePage> {
  for (let failures = 0; ; failures += 1) {
    try {
      return await requestPage(client, query, signal);
    } catch (error) {
      if (signal?.aborted) throw abortReason(signal);
      if (!(error instanceof ApiError) || !error.isTemporary) throw error;
      await sleep(retryDelay(failures, error), signal);
    }
  }
}

async function requestPage(
  client: Client,
  query: PageQuery,
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

/** @throws the signal's reason if the signal aborts */
export function sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
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
