import type { AvatarUrls } from '../avatars/store.ts';
import type { Engine } from '../database/engine.ts';
import { DomainError } from '../errors.ts';
import { findAnySpace } from '../spaces/space-access.ts';
import { parseSubject } from '../spaces/subjects.ts';
import { limitConcurrency } from '../system/concurrency.ts';
import { nextTurn, takeTurn } from '../system/event-loop.ts';
import { MAX_POLL_INTERVAL_MS, openPoll } from '../system/polls.ts';
import { currentSender, runAs, SERVER, type Sender } from '../system/senders.ts';
import type { Waits } from '../system/waits.ts';
import { checkReaders, type Reader } from './follower-access.ts';
import { type EventPosition, formatTime } from './message-order.ts';
import { type Events, readEvents, readRelations } from './read-events.ts';

/** Number of reads for groups of followers at the same time. */
const MAX_CONCURRENT_READS = 4;

/** Polls use at most this share of the time, but take place at least about once a second. */
const POLL_SHARE = 0.02;
const MIN_POLL_INTERVAL_MS = 50;

/** Number of readers that are checked in one turn of the event loop. */
const GROUP_SIZE = 200;

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
  /** Stops polls. */
  close(): void;
}

interface Follower extends EventRequest {
  sender: Sender;
  /** Followers of a space with the same position and limit get the same events. */
  query: string;
  /** Whether its position has been read once. */
  hasWaited: boolean;
  cancelWait: (() => void) | undefined;
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
  /** Whether it will be read or is being read. */
  isBusy: boolean;
}

/** @param onFailure called if a read or poll for waiting requests fails. They continue to wait. */
export function openFollowers(
  { engine, avatars, waits }: { engine: Engine; avatars: AvatarUrls; waits: Waits },
  onFailure: (error: unknown) => void,
): Followers {
  const rooms = new Map<string, Room>();
  const limitRead = limitConcurrency({
    limit: MAX_CONCURRENT_READS,
    maxWaiting: Infinity,
    maxWaitMs: Infinity,
  });
  const polls = openPoll(MIN_POLL_INTERVAL_MS, poll);
  let isListening = false;

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
    follower.cancelWait?.();
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
    // Later, so that requests that arrive together share a read.
    setImmediate(readRoom, room);
  }

  function announce(room: Room): void {
    room.hasNews = true;
    requestRead(room);
  }

  /** Never rejects. */
  async function readRoom(room: Room): Promise<void> {
    // Those who arrive later need another read.
    const arrived = room.arrived.splice(0);
    const followers = room.hasNews ? [...room.followers] : arrived;
    room.hasNews = false;
    for (const some of inGroups(networksInTurn(followers))) {
      const endRead = await runAs(lineOf(some), limitRead.begin);
      await runAs(SERVER, () => readFor(room, some));
      endRead();
    }
    room.isBusy = false;
    if (room.hasNews || room.arrived.length > 0) requestRead(room);
    else removeIfUnused(room);
  }

  /** Never rejects. */
  async function readFor(room: Room, followers: readonly Follower[]): Promise<void> {
    try {
      await nextTurn();
      room.spacePk ??= (await findAnySpace(engine.db, null, room.spaceId)).pk;
      const found = await readForAll(room.spacePk, followers);
      const callers = followers.flatMap(({ caller }) => caller ?? []);
      const asSeenBy = await readRelations(engine.db, found.values(), callers);
      // After the reads, because a reader who has lost access must not get later messages.
      const { errors } = await checkReaders(engine.db, followers);
      for (const follower of followers) {
        if (!room.followers.has(follower)) continue;
        const error = errors.get(follower);
        const events = asSeenBy(found.get(follower.query) as Events, follower.caller);
        if (error) end(follower, error);
        else if (hasEvents(events)) deliver(follower, events);
        else if (follower.waitMs === 0 || waits.isEnding) end(follower, events);
        else beginWaiting(follower);
      }
    } catch (error) {
      // The next poll requests another read.
      room.lastEventTime = '';
      const isMissing = error instanceof DomainError && error.code === 'space_not_found';
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

  function deliver(follower: Follower, events: Events): void {
    leaveRoom(follower);
    // A message can have thousands of readers, who send their next requests at once, so each waits for its turn.
    if (follower.hasWaited) takeTurn(follower.sender, () => follower.resolve(events));
    else follower.resolve(events);
  }

  function beginWaiting(follower: Follower): void {
    if (follower.hasWaited) return;
    follower.hasWaited = true;
    const endWait = () => end(follower, noEvents(follower));
    follower.cancelWait = waits.begin(follower.sender, follower.waitMs, endWait);
    polls.start();
  }

  async function poll(): Promise<number | undefined> {
    const startedAt = performance.now();
    const readers = [...rooms.values()].flatMap(({ followers }) =>
      [...followers].filter(({ hasWaited }) => hasWaited),
    );
    try {
      for (const some of inGroups(readers)) {
        await checkFollowers(some);
        await nextTurn();
      }
    } catch (error) {
      onFailure(error);
    }
    if (rooms.size === 0) return undefined;
    const interval = (performance.now() - startedAt) / POLL_SHARE;
    return Math.min(Math.max(interval, MIN_POLL_INTERVAL_MS), MAX_POLL_INTERVAL_MS);
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
        engine.onEvent((subject) => {
          const parsed = parseSubject(subject);
          const room = 'spaceId' in parsed ? rooms.get(parsed.spaceId) : undefined;
          if (room) announce(room);
        });
      }
      const { promise, resolve, reject } = Promise.withResolvers<Events>();
      const follower = {
        ...request,
        sender: currentSender(),
        query: `${request.position.join()} ${request.limit}`,
        hasWaited: false,
        cancelWait: undefined,
        resolve,
        reject,
      };
      requestRead(enterRoom(follower));
      onDisconnect(() => end(follower, noEvents(follower)));
      return promise;
    },
    close: polls.stop,
  };
}

/** Returns the line in which a read waits: that of the server if followers of several networks wait for it. */
function lineOf(followers: readonly Follower[]): Sender {
  const [first, ...others] = followers.map(({ sender }) => sender);
  return first && others.every(({ network }) => network === first.network) ? first : SERVER;
}

/** Orders followers so that those of a network come after as many of each other one. */
function networksInTurn(followers: readonly Follower[]): Follower[] {
  const counts = new Map<string, number>();
  const ranked = followers.map((follower) => {
    const { network } = follower.sender;
    const rank = counts.get(network) ?? 0;
    counts.set(network, rank + 1);
    return { follower, rank };
  });
  return ranked.sort((a, b) => a.rank - b.rank).map(({ follower }) => follower);
}

function* inGroups(followers: readonly Follower[]): Iterable<Follower[]> {
  for (let i = 0; i < followers.length; i += GROUP_SIZE) {
    yield followers.slice(i, i + GROUP_SIZE);
  }
}

function hasEvents({ items, changedItems, deletedMessageIds }: Events): boolean {
  return items.length + changedItems.length + deletedMessageIds.length > 0;
}

function noEvents({ position }: Follower): Events {
  return { items: [], changedItems: [], deletedMessageIds: [], newer: position };
}
