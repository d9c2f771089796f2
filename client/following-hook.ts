import {
  type InfiniteData,
  notifyManager,
  onlineManager,
  type QueryClient,
  type QueryFilters,
  useQueryClient,
} from '@tanstack/react-query';
import { useCallback, useEffect, useState, useSyncExternalStore } from 'react';
import type { Client } from '../generated/client/index.ts';
import { client as defaultClient } from '../generated/client.gen.ts';
import { type ApiError, toApiError } from './errors.ts';
import { type Feed, type ListEvents, sleep } from './following.ts';
import { useSessionStatus, useSessionValue } from './session-hooks.ts';
import { followShared } from './shared-following.ts';

/** Pause before a list is loaded again, in case that its next cursor is not valid either. */
const RELOAD_PAUSE_MS = 3_000;

export interface LiveOptions {
  /** True by default. While the session has expired, nothing is followed. */
  enabled?: boolean | undefined;
  /** By default, the exported `client`. */
  client?: Client | undefined;
}

interface CachedFeed<Events extends ListEvents> extends Feed<Events> {
  /** Finds the infinite lists in the query cache. */
  lists: QueryFilters;
  /** Changes them. Must be idempotent. */
  apply(queryClient: QueryClient, events: Events): void;
}

/**
 * Follows a list from its first page on, which a query loads. Loads it again if its position is no longer valid, or too
 * old. Components with the same list share what follows it.
 * @returns the error that has ended it; null before
 */
export function useFollowing<Events extends ListEvents>(
  feed: CachedFeed<Events>,
  { enabled = true, client = defaultClient }: LiveOptions,
): ApiError | null {
  const queryClient = useQueryClient();
  const [error, setError] = useState<ApiError | null>(null);
  const isLoaded = useIsLoaded(feed);
  const token = useSessionValue((session) => session.token());
  const isExpired = useSessionStatus() === 'expired';
  const isFollowed = isLoaded && enabled && !isExpired;
  useEffect(() => {
    setError(null);
    if (!isFollowed) return;
    return share(queryClient, { client, key: `${feed.name} ${token}` }, setError, (fail) => {
      const position = { cursor: '' };
      let controller = new AbortController();
      const start = () => {
        controller.abort();
        controller = new AbortController();
        const { signal } = controller;
        followCached(feed, { queryClient, client, signal, position }).catch((reason) => {
          if (!signal.aborted) fail(toApiError(undefined, reason));
        });
      };
      start();
      // At once, because a request of the lost connection may never end.
      const unsubscribe = onlineManager.subscribe((isOnline) => isOnline && start());
      return () => {
        controller.abort();
        unsubscribe();
      };
    });
  }, [queryClient, client, feed.name, isFollowed, token]);
  return error;
}

/** Returns whether the first page of a list is in the cache. What a query shows can be that of another list. */
function useIsLoaded({ lists }: { lists: QueryFilters }): boolean {
  const queryClient = useQueryClient();
  const subscribe = useCallback(
    (listener: () => void) =>
      queryClient.getQueryCache().subscribe(notifyManager.batchCalls(listener)),
    [queryClient],
  );
  const isLoaded = () => cursorOf(queryClient, lists) !== undefined;
  return useSyncExternalStore(subscribe, isLoaded, isLoaded);
}

/** Returns the position after the first page of a list that is shown; undefined while it is loading. */
function cursorOf(queryClient: QueryClient, lists: QueryFilters): string | undefined {
  const [list] = queryClient.getQueryCache().findAll({ ...lists, type: 'active' });
  const data = list?.state.data as InfiniteData<ListEvents> | undefined;
  return data?.pages[0]?.newer_cursor;
}

interface Follower {
  client: Client;
  /** The list and the access token. */
  key: string;
  users: Set<(error: ApiError) => void>;
  error: ApiError | null;
  stop: () => void;
}

const followers = new WeakMap<QueryClient, Follower[]>();

/**
 * Starts a follower for its first user, and stops it with its last one.
 * @param onError is called with the error that has ended it
 * @returns a function that ends the use
 */
function share(
  queryClient: QueryClient,
  { client, key }: Pick<Follower, 'client' | 'key'>,
  onError: (error: ApiError) => void,
  start: (fail: (error: ApiError) => void) => () => void,
): () => void {
  const running = followers.get(queryClient) ?? [];
  followers.set(queryClient, running);
  let follower = running.find((each) => each.client === client && each.key === key);
  if (!follower) {
    const started: Follower = { client, key, users: new Set(), error: null, stop: () => {} };
    started.stop = start((error) => {
      started.error = error;
      for (const user of started.users) user(error);
    });
    running.push(started);
    follower = started;
  }
  const { users, error, stop } = follower;
  users.add(onError);
  if (error) onError(error);
  return () => {
    users.delete(onError);
    if (users.size > 0) return;
    stop();
    running.splice(running.indexOf(follower), 1);
  };
}

/** Changes are missing, so the list must be loaded again. */
class MissingEventsError extends Error {}

interface Following {
  queryClient: QueryClient;
  client: Client;
  signal: AbortSignal;
  position: { cursor: string };
}

async function followCached<Events extends ListEvents>(
  feed: CachedFeed<Events>,
  { queryClient, client, signal, position }: Following,
): Promise<void> {
  while (true) {
    position.cursor ||= cursorOf(queryClient, feed.lists) ?? '';
    try {
      await followShared({
        feed,
        client,
        signal,
        position,
        apply(events) {
          if (!events.is_complete) throw new MissingEventsError();
          feed.apply(queryClient, events);
        },
      });
    } catch (reason) {
      const isInvalid = toApiError(undefined, reason).code === 'invalid_cursor';
      if (!isInvalid && !(reason instanceof MissingEventsError)) throw reason;
    }
    await sleep(RELOAD_PAUSE_MS, signal);
    await queryClient.refetchQueries({ ...feed.lists, type: 'active' });
    position.cursor = '';
  }
}
