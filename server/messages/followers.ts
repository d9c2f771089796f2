import { setImmediate as nextLoopTurn } from 'node:timers/promises';
import type { AvatarUrls } from '../avatars/store.ts';
import type { Engine } from '../database/engine.ts';
import { DomainError } from '../errors.ts';
import { findAnySpace } from '../spaces/space-access.ts';
import { checkReaders, type Reader } from './follower-access.ts';
import { type EventPosition, formatTime } from './message-order.ts';
import { type Events, readAppreciated, readEvents } from './read-events.ts';

/** Number of spaces that are read at the same time. */
const MAX_CONCURRENT_READS = 4;

/**
 * Readers that have waited get their responses in batches of this size at this interval, because each sends its next
 * request at once. So a message to a space with many readers delays other requests little.
 */
const BATCH_SIZE = 20;
const BATCH_INTERVAL_MS = 10;

/** Polls use at most this share of the time, but take place at least once a second. */
const POLL_SHARE = 0.02;
const MIN_POLL_INTERVAL_MS = 50;
const MAX_POLL_INTERVAL_MS = 1_000;

/** Number of readers that a poll checks without yielding to the event loop. */
const READERS_PER_CHECK = 500;

export interface EventRequest extends Reader {
  position: EventPosition;
  /** Maximum number of events. */
  limit: number;
  waitMs: number;
}

/**
 * Reads events of spaces for all requests of this process. Waiting requests hold no database connection: one query
 * reads a space for all of its readers when an event is announced, and one poll finds lost access and events that were
 * not announced.
 */
export interface Followers {
  /**
   * Returns the next events of a space. If there are none, waits for them, at most `waitMs`.
   * @param onDisconnect calls a function when the client disconnects
   * @throws DomainError `space_not_found`, `unauthenticated`, also while it waits
   */
  follow(request: EventRequest, onDisconnect: (end: () => void) => void): Promise<Events>;
  /** Ends all waits without events, and lets later requests not wait. */
  endWaits(): Promise<void>;
  /** Stops polls. */
  close(): void;
}

interface Follower extends EventRequest {
  /** Followers of a space with the same position and limit get the same events. */
  query: string;
  /** Whether its position has been read once. */
  hasWaited: boolean;
  timeout: NodeJS.Timeout | undefined;
  resolve: (events: Events) => void;
  reject: (error: unknown) => void;
}

/** The followers of a space. */
interface Room {
  spaceId: string;
  spacePk: number | undefined;
  followers: Set<Follower>;
  /** The followers whose position has not been read. */
  arrived: Follower[];
  /** The time of the latest event that a poll has found. */
  lastEventTime: string;
  /** Whether there may be events for those who wait. */
  hasNews: boolean;
  /** Whether it is in the queue or being read. */
  isBusy: boolean;
}

/** @param onFailure called if a read or poll for waiting requests fails. They continue to wait. */
export function openFollowers(
  { engine, avatars }: { engine: Engine; avatars: AvatarUrls },
  onFailure: (error: unknown) => void,
): Followers {
  const rooms = new Map<string, Room>();
  const queue: Room[] = [];
  const deliver = openDelivery();
  let reading = 0;
  let isListening = false;
  let isEnding = false;
  let pollTimer: NodeJS.Timeout | undefined;

  function enterRoom(follower: Follower): Room {
    const { spaceId, position } = follower;
    let room = rooms.get(spaceId);
    if (!room) {
      room = {
        spaceId,
        spacePk: undefined,
        followers: new Set(),
        arrived: [],
        lastEventTime: formatTime(position[0]),
        hasNews: false,
        isBusy: false,
      };
      rooms.set(spaceId, room);
    }
    room.followers.add(follower);
    room.arrived.push(follower);
    return room;
  }

  function leaveRoom(follower: Follower): void {
    clearTimeout(follower.timeout);
    const room = rooms.get(follower.spaceId);
    room?.followers.delete(follower);
    if (room) removeIfUnused(room);
  }

  function removeIfUnused(room: Room): void {
    if (room.followers.size === 0 && !room.isBusy) rooms.delete(room.spaceId);
  }

  function end(follower: Follower, result: Events | DomainError): void {
    leaveRoom(follower);
    if (result instanceof DomainError) follower.reject(result);
    else follower.resolve(result);
  }

  function requestRead(room: Room): void {
    if (room.isBusy) return;
    room.isBusy = true;
    queue.push(room);
    // Later, so that requests that arrive together share a read.
    setImmediate(readRooms);
  }

  function announce(room: Room): void {
    room.hasNews = true;
    requestRead(room);
  }

  function readRooms(): void {
    while (reading < MAX_CONCURRENT_READS) {
      const room = queue.shift();
      if (!room) return;
      reading += 1;
      void readRoom(room).finally(() => {
        reading -= 1;
        room.isBusy = false;
        if (room.hasNews || room.arrived.length > 0) requestRead(room);
        else removeIfUnused(room);
        readRooms();
      });
    }
  }

  /** Never rejects. */
  async function readRoom(room: Room): Promise<void> {
    // Those who arrive later need another read.
    const arrived = room.arrived.splice(0);
    const followers = room.hasNews ? [...room.followers] : arrived;
    room.hasNews = false;
    try {
      room.spacePk ??= (await findAnySpace(engine.db, null, room.spaceId)).pk;
      const found = await readForAll(room.spacePk, followers);
      const callers = followers.flatMap(({ caller }) => caller ?? []);
      const asSeenBy = await readAppreciated(engine.db, found.values(), callers);
      // After the reads, because a reader who has lost access must not get later messages.
      const { errors } = await checkReaders(engine.db, followers);
      for (const follower of followers) {
        if (!room.followers.has(follower)) continue;
        const error = errors.get(follower);
        const events = asSeenBy(found.get(follower.query) as Events, follower.caller);
        if (error) end(follower, error);
        else if (hasEvents(events)) deliverEvents(follower, events);
        else if (follower.waitMs === 0 || isEnding) end(follower, events);
        else beginWaiting(follower);
      }
    } catch (error) {
      // The next poll requests another read.
      room.lastEventTime = '';
      const isMissing = error instanceof DomainError;
      for (const follower of followers) {
        if (follower.hasWaited && !isMissing) continue;
        leaveRoom(follower);
        follower.reject(error);
      }
      if (!isMissing) onFailure(error);
    }
  }

  /** Reads once for all followers with the same position. Almost all have the latest one. */
  async function readForAll(
    spacePk: number,
    followers: readonly Follower[],
  ): Promise<Map<string, Events>> {
    const found = new Map<string, Events>();
    for (const follower of followers) {
      const { query, position, limit } = follower;
      if (found.has(query)) continue;
      found.set(query, await readEvents(engine.db, avatars, spacePk, position, limit));
    }
    return found;
  }

  function deliverEvents(follower: Follower, events: Events): void {
    // Others cause no burst of responses, because their requests have just arrived one by one.
    if (!follower.hasWaited) {
      end(follower, events);
      return;
    }
    leaveRoom(follower);
    deliver(() => follower.resolve(events));
  }

  function beginWaiting(follower: Follower): void {
    if (follower.hasWaited) return;
    follower.hasWaited = true;
    follower.timeout = setTimeout(() => end(follower, noEvents(follower)), follower.waitMs);
    pollTimer ??= setTimeout(poll, MIN_POLL_INTERVAL_MS).unref();
  }

  async function poll(): Promise<void> {
    const startedAt = performance.now();
    const waiting = [...rooms.values()].flatMap(({ followers }) =>
      [...followers].filter(({ hasWaited }) => hasWaited),
    );
    try {
      for (let i = 0; i < waiting.length; i += READERS_PER_CHECK) {
        await checkFollowers(waiting.slice(i, i + READERS_PER_CHECK));
        await nextLoopTurn();
      }
    } catch (error) {
      onFailure(error);
    }
    const interval = (performance.now() - startedAt) / POLL_SHARE;
    if (pollTimer === undefined) return;
    pollTimer =
      rooms.size === 0
        ? undefined
        : setTimeout(
            poll,
            Math.min(Math.max(interval, MIN_POLL_INTERVAL_MS), MAX_POLL_INTERVAL_MS),
          ).unref();
  }

  async function checkFollowers(followers: readonly Follower[]): Promise<void> {
    const { errors, spaces } = await checkReaders(engine.db, followers);
    for (const follower of followers) {
      const room = rooms.get(follower.spaceId);
      // Its wait has ended meanwhile.
      if (!room?.followers.has(follower)) continue;
      const error = errors.get(follower);
      const lastEventTime = spaces.get(follower.spaceId)?.lastEventTime ?? '';
      if (error) end(follower, error);
      else if (lastEventTime > room.lastEventTime) {
        room.lastEventTime = lastEventTime;
        announce(room);
      }
    }
  }

  return {
    follow(request, onDisconnect) {
      if (!isListening) {
        isListening = true;
        engine.onEvent((spaceId) => {
          const room = rooms.get(spaceId);
          if (room) announce(room);
        });
      }
      const { promise, resolve, reject } = Promise.withResolvers<Events>();
      const follower = {
        ...request,
        query: `${request.position.join()} ${request.limit}`,
        hasWaited: false,
        timeout: undefined,
        resolve,
        reject,
      };
      onDisconnect(() => end(follower, noEvents(follower)));
      requestRead(enterRoom(follower));
      return promise;
    },
    async endWaits() {
      isEnding = true;
      const waiting = [...rooms.values()].flatMap(({ followers }) => [...followers]);
      for (const [index, follower] of waiting.entries()) {
        if (index % BATCH_SIZE === 0) await nextLoopTurn();
        if (follower.hasWaited) end(follower, noEvents(follower));
      }
    },
    close() {
      clearTimeout(pollTimer);
      pollTimer = undefined;
    },
  };
}

/** Returns a function that calls functions in their order, in batches. */
function openDelivery(): (deliver: () => void) => void {
  const queue: (() => void)[] = [];
  let timer: NodeJS.Timeout | undefined;
  const deliverBatch = () => {
    timer = undefined;
    const batch = queue.splice(0, BATCH_SIZE);
    if (batch.length > 0) timer = setTimeout(deliverBatch, BATCH_INTERVAL_MS);
    for (const deliver of batch) deliver();
  };
  return (deliver) => {
    queue.push(deliver);
    if (timer === undefined) timer = setTimeout(deliverBatch, 0);
  };
}

function hasEvents({ items, changedItems, deletedMessageIds }: Events): boolean {
  return items.length + changedItems.length + deletedMessageIds.length > 0;
}

function noEvents({ position }: Follower): Events {
  return { items: [], changedItems: [], deletedMessageIds: [], newer: position };
}
