import type { Client } from '../generated/client/index.ts';
import { client as defaultClient } from '../generated/client.gen.ts';
import { listMessages, listParticipations } from '../generated/sdk.gen.ts';
import type { MessagePage, ParticipationPage } from '../generated/types.gen.ts';
import { ApiError, abortReason, toApiError } from './errors.ts';
import type { ClientResponse } from './http.ts';
import { retryDelay } from './retries.ts';

/** The maximum of the contract, in seconds. */
const WAIT_SECONDS = 25;

/** A request without a response for this time has lost its connection. */
const REQUEST_TIMEOUT_MS = 40_000;

/** Pause between two requests without events, in case that a server does not wait. */
const MIN_INTERVAL_MS = 1_000;

/** Maximum number of events in a response. */
export const MAX_EVENTS = 100;

export interface FollowListOptions {
  /** `newer_cursor` of a page of the list. By default, follows from now on. */
  after?: string;
  /** Ends the iteration. */
  signal?: AbortSignal;
  /** By default, the exported `client`. */
  client?: Client;
}

/** Which space to follow, and from where. */
export interface FollowOptions extends FollowListOptions {
  space_id: string;
}

/** New, changed and deleted messages of a space since the previous events. */
export type SpaceEvents = Pick<
  MessagePage,
  'items' | 'changed_items' | 'deleted_message_ids' | 'is_complete' | 'newer_cursor'
>;

/** New and changed participations of the caller since the previous events, and the spaces that are no longer theirs. */
export type ParticipationEvents = Pick<
  ParticipationPage,
  'items' | 'left_space_ids' | 'is_complete' | 'newer_cursor'
>;

export type ListEvents = ParticipationEvents | SpaceEvents;

interface EventsQuery {
  after?: string;
  wait?: number;
  limit: number;
}

/** A list that can be followed. */
export interface Feed<Events extends ListEvents> {
  /** Tells the lists of a server apart. */
  name: string;
  request(options: {
    client: Client;
    query: EventsQuery;
    signal: AbortSignal;
  }): ClientResponse<Events>;
}

export function messagesIn(space_id: string): Feed<SpaceEvents> {
  return {
    name: space_id,
    request: ({ query, ...options }) =>
      listMessages({ ...options, query: { ...query, space_id }, throwOnError: false }),
  };
}

export const ownParticipations: Feed<ParticipationEvents> = {
  name: 'participations',
  request: (options) => listParticipations({ ...options, throwOnError: false }),
};

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
export function followMessages({
  space_id,
  ...options
}: FollowOptions): AsyncGenerator<SpaceEvents, void, undefined> {
  return follow(messagesIn(space_id), options);
}

/**
 * Follows the spaces of the caller: yields participations that are new or have changed, as they are now, and the ids of
 * spaces that are no longer in the list. A change can be yielded twice. Otherwise like {@link followMessages}.
 *
 * @throws {@link ApiError} for errors that are not temporary, such as 401
 * @throws the signal's reason if the signal aborts
 */
export function followParticipations(
  options: FollowListOptions = {},
): AsyncGenerator<ParticipationEvents, void, undefined> {
  return follow(ownParticipations, options);
}

export async function* follow<Events extends ListEvents>(
  feed: Feed<Events>,
  { after, signal, client = defaultClient }: FollowListOptions,
): AsyncGenerator<Events, void, undefined> {
  while (true) {
    const startedAt = Date.now();
    const query =
      after === undefined ? { limit: 1 } : { after, wait: WAIT_SECONDS, limit: MAX_EVENTS };
    const events = await readEvents(feed, client, query, signal);
    const isFirst = after === undefined;
    after = events.newer_cursor;
    if (isFirst) continue;
    if (!events.is_complete || countEvents(events) > 0) {
      yield events;
    } else {
      // A stopping server responds early. Another one may not serve yet.
      await sleep(Math.max(0, startedAt + MIN_INTERVAL_MS - Date.now()), signal);
    }
  }
}

/** Each element of each list is an event. */
export function countEvents(events: ListEvents): number {
  return Object.values(events).flatMap((value) => (Array.isArray(value) ? value : [])).length;
}

/**
 * Returns the events of a response. Repeats the request after temporary errors.
 * @throws {@link ApiError} for other errors
 * @throws the signal's reason if the signal aborts
 */
export async function readEvents<Events extends ListEvents>(
  feed: Feed<Events>,
  client: Client,
  query: EventsQuery,
  signal: AbortSignal | undefined,
): Promise<Events> {
  for (let failures = 0; ; failures += 1) {
    try {
      return await requestEvents(feed, client, query, signal);
    } catch (error) {
      if (signal?.aborted) throw abortReason(signal);
      if (!(error instanceof ApiError) || !error.isTemporary) throw error;
      await sleep(retryDelay(failures, error), signal);
    }
  }
}

async function requestEvents<Events extends ListEvents>(
  feed: Feed<Events>,
  client: Client,
  query: EventsQuery,
  signal: AbortSignal | undefined,
): Promise<Events> {
  if (signal?.aborted) throw abortReason(signal);
  // Not `AbortSignal.any`, which React Native lacks.
  const controller = new AbortController();
  const abort = () => controller.abort();
  signal?.addEventListener('abort', abort);
  const timer = setTimeout(abort, REQUEST_TIMEOUT_MS);
  try {
    const { data, error, response } = await feed.request({
      client,
      query,
      signal: controller.signal,
    });
    if (typeof data?.newer_cursor === 'string' && Array.isArray(data.items)) {
      // Servers before version 0.4.0 do not return `is_complete`.
      return { ...data, is_complete: data.is_complete ?? true };
    }
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
