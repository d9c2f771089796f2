import type { Client } from '../generated/client/index.ts';
import {
  countEvents,
  type Feed,
  follow,
  type ListEvents,
  MAX_EVENTS,
  readEvents,
} from './following.ts';

/** Pause between updates, which bounds their rate even if a server does not wait. */
const UPDATE_PAUSE_MS = 200;

interface SharedFollowing<Events extends ListEvents> {
  feed: Feed<Events>;
  client: Client;
  signal: AbortSignal;
  /** The `newer_cursor` of the last applied page. Each call of `apply` advances it. */
  position: { cursor: string };
  apply(events: Events): void;
}

/** What the following tab sends to the others. */
interface Broadcast<Events> {
  /** Changes when another tab begins to follow. */
  leader: number;
  events: Events;
}

/**
 * Follows a list until the signal aborts. Of all tabs of a browser with the same list and user, only one sends
 * requests, and tells the others: browsers open at most six connections to a server with HTTP/1.1. A hidden tab sends
 * none. Without `navigator.locks`, as on a site without HTTPS, each visible tab sends its own.
 *
 * @throws `ApiError` as `follow`
 * @throws the error that `apply` throws
 */
export async function followShared<Events extends ListEvents>(
  following: SharedFollowing<Events>,
): Promise<void> {
  const { client, feed, signal, position, apply } = following;
  const channel = await openChannel(client, feed.name);
  const failure = new AbortController();
  const fail = (reason: unknown) => failure.abort(reason);
  const stop = () => failure.abort(signal.reason);
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop);

  // Events are applied one after the other. After those of one leader, only its next ones are complete.
  let queue = Promise.resolve();
  let knownLeader = 0;
  const enqueue = (task: () => void | Promise<void>) => {
    queue = queue.then(() => (failure.signal.aborted ? undefined : task())).catch(fail);
    return queue;
  };
  const catchUp = async () => {
    let events: Events;
    do {
      const query = { after: position.cursor, limit: MAX_EVENTS };
      events = await readEvents(feed, client, query, failure.signal);
      if (!events.is_complete || countEvents(events) > 0) apply(events);
      position.cursor = events.newer_cursor;
    } while (countEvents(events) >= MAX_EVENTS);
  };
  if (channel) {
    channel.onmessage = ({ data: { leader, events } }: MessageEvent<Broadcast<Events>>) =>
      void enqueue(async () => {
        if (leader === knownLeader) apply(events);
        // A hidden tab catches up when it is shown.
        else if (isHidden()) return;
        else await catchUp();
        knownLeader = leader;
        position.cursor = events.newer_cursor;
      });
  }
  const lead = (visible: AbortSignal) =>
    enqueue(async () => {
      const leader = Math.random();
      const { cursor: after } = position;
      try {
        for await (const events of follow(feed, { after, signal: visible, client })) {
          channel?.postMessage({ leader, events } satisfies Broadcast<Events>);
          apply(events);
          position.cursor = events.newer_cursor;
          await new Promise((resolve) => setTimeout(resolve, UPDATE_PAUSE_MS));
        }
      } catch (error) {
        if (!visible.aborted) throw error;
      }
    });
  const followWhileVisible = async (visible: AbortSignal) => {
    if (!channel) return lead(visible);
    const options = { ifAvailable: true };
    const hasLed = await navigator.locks.request(channel.name, options, async (lock) => {
      if (lock) await lead(visible);
      return lock !== null;
    });
    if (hasLed || visible.aborted) return;
    await enqueue(catchUp);
    if (visible.aborted) return;
    await navigator.locks
      .request(channel.name, { signal: visible }, () => lead(visible))
      .catch((error) => {
        if (!visible.aborted) throw error;
      });
  };
  try {
    while (!failure.signal.aborted) {
      await untilVisible(failure.signal);
      await whileVisible(failure.signal, followWhileVisible);
    }
  } finally {
    signal.removeEventListener('abort', stop);
    channel?.close();
  }
  throw failure.signal.reason;
}

/** Returns null if the browser cannot share what a tab receives. */
async function openChannel(client: Client, name: string): Promise<BroadcastChannel | null> {
  if (typeof navigator !== 'object' || !navigator.locks) return null;
  const { baseUrl, auth } = client.getConfig();
  const token = typeof auth === 'function' ? await auth({ type: 'http', scheme: 'bearer' }) : auth;
  // Other users see other lists, and whether they have appreciated a message.
  return new BroadcastChannel(`space-service ${baseUrl} ${name} ${hash(String(token))}`);
}

/** Names of channels and locks are visible to scripts that cannot read the token. */
function hash(text: string): number {
  let value = 0;
  for (let index = 0; index < text.length; index += 1) {
    value = (Math.imul(value, 31) + text.charCodeAt(index)) | 0;
  }
  return value;
}

/** Runs a task with a signal that aborts when the tab is hidden. */
async function whileVisible(
  signal: AbortSignal,
  task: (visible: AbortSignal) => Promise<unknown>,
): Promise<void> {
  const visible = new AbortController();
  const update = () => {
    if (isHidden() || signal.aborted) visible.abort();
  };
  const unsubscribe = onChange(signal, update);
  update();
  try {
    await task(visible.signal);
  } finally {
    unsubscribe();
  }
}

function untilVisible(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const update = () => {
      if (isHidden() && !signal.aborted) return;
      unsubscribe();
      resolve();
    };
    const unsubscribe = onChange(signal, update);
    update();
  });
}

/** Calls a function when the visibility of the tab changes and when the signal aborts. */
function onChange(signal: AbortSignal, listener: () => void): () => void {
  signal.addEventListener('abort', listener);
  if (typeof document === 'object') document.addEventListener('visibilitychange', listener);
  return () => {
    signal.removeEventListener('abort', listener);
    if (typeof document === 'object') document.removeEventListener('visibilitychange', listener);
  };
}

/** Apps without a document, such as those of React Native, are visible. */
function isHidden(): boolean {
  return typeof document === 'object' && document.hidden;
}
