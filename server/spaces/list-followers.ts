import { type Caller, findSessions, sessionEnded } from '../auth/sessions.ts';
import type { AvatarUrls } from '../avatars/store.ts';
import type { Engine } from '../database/engine.ts';
import { includes } from '../database/snapshot.ts';
import { DomainError } from '../errors.ts';
import { limitConcurrency } from '../system/concurrency.ts';
import { nextTurn, pausing, takeTurn } from '../system/event-loop.ts';
import { MAX_POLL_INTERVAL_MS, openPoll } from '../system/polls.ts';
import { currentSender, runAs, SERVER, type Sender } from '../system/senders.ts';
import type { Waits } from '../system/waits.ts';
import { findAudience } from './list-audience.ts';
import { type ListChanges, type ListReader, readListChanges } from './list-changes.ts';

/** Number of lists that are read at the same time. */
const MAX_CONCURRENT_READS = 4;

/** Events of this time share the query for the users whom they concern. */
const EVENT_INTERVAL_MS = 20;

/** How long a poll reads lists. The next one continues. */
const MAX_POLL_READ_MS = 20;

/** Number of sessions that are checked in one turn of the event loop. */
const GROUP_SIZE = 200;

export interface ListRequest extends ListReader {
  caller: Caller;
  waitMs: number;
}

/**
 * Reads changes of lists of spaces for all requests of this process. A waiting request is known only by its account: when
 * events are announced, one query finds the accounts that they concern. A poll finds ended sessions, and reads lists in
 * turn for events that were not announced.
 */
export interface ListFollowers {
  /**
   * Returns the next changes of the caller's list. If there are none, waits for them, at most `waitMs`.
   * @param onDisconnect calls a function when the client disconnects
   * @throws DomainError `unauthenticated`, also while it waits
   */
  follow(request: ListRequest, onDisconnect: (end: () => void) => void): Promise<ListChanges>;
  /** Stops polls. */
  close(): void;
}

interface Follower extends ListRequest {
  sender: Sender;
  /** Undefined until its list has been read once. */
  cancelWait: (() => void) | undefined;
  resolve: (changes: ListChanges) => void;
  reject: (error: unknown) => void;
}

/** The requests of a user, who has one list. */
interface Account {
  userPk: number;
  followers: Set<Follower>;
  isBeingRead: boolean;
  /** Whether there may be changes or requests that the current read does not see. */
  hasNews: boolean;
}

/** @param onFailure called if a read or poll for waiting requests fails. They continue to wait. */
export function openListFollowers(
  { engine, avatars, waits }: { engine: Engine; avatars: AvatarUrls; waits: Waits },
  onFailure: (error: unknown) => void,
): ListFollowers {
  /** Beginning with the one that polls have not read for the longest time. */
  const accounts = new Map<number, Account>();
  const subjects = new Set<string>();
  const limitRead = limitConcurrency({
    limit: MAX_CONCURRENT_READS,
    maxWaiting: Infinity,
    maxWaitMs: Infinity,
  });
  let isListening = false;
  let eventTimer: NodeJS.Timeout | undefined;
  let isReadingEvents = false;
  // Apart from each other, because reads can take long.
  const polls = [endWithoutSession, readInTurn].map((work) =>
    openPoll(MAX_POLL_INTERVAL_MS, async () => {
      await work().catch(onFailure);
      return accounts.size === 0 ? undefined : MAX_POLL_INTERVAL_MS;
    }),
  );

  function listen(): void {
    if (isListening) return;
    isListening = true;
    engine.onEvent((subject) => {
      if (accounts.size === 0) return;
      subjects.add(subject);
      if (!isReadingEvents) startEventTimer();
    });
  }

  function startEventTimer(): void {
    eventTimer ??= setTimeout(() => runAs(SERVER, readForEvents), EVENT_INTERVAL_MS).unref();
  }

  /** One at a time. Never rejects. */
  async function readForEvents(): Promise<void> {
    eventTimer = undefined;
    isReadingEvents = true;
    const announced = [...subjects];
    subjects.clear();
    try {
      for (const userPk of await findAudience(engine.db, announced, new Set(accounts.keys()))) {
        const account = accounts.get(userPk);
        if (account) void readList(account);
      }
    } catch (error) {
      // Polls find these events.
      onFailure(error);
    }
    isReadingEvents = false;
    if (subjects.size > 0) startEventTimer();
  }

  function enter(follower: Follower): Account {
    const { userPk } = follower.caller;
    let account = accounts.get(userPk);
    if (!account) {
      account = { userPk, followers: new Set(), isBeingRead: false, hasNews: false };
      accounts.set(userPk, account);
    }
    account.followers.add(follower);
    return account;
  }

  function leave(follower: Follower): void {
    follower.cancelWait?.();
    const account = accounts.get(follower.caller.userPk);
    account?.followers.delete(follower);
    if (account?.followers.size === 0) accounts.delete(account.userPk);
  }

  function end(follower: Follower, result: ListChanges | DomainError): void {
    leave(follower);
    // One event can concern thousands of requests, whose clients then send their next ones at once.
    takeTurn(follower.sender, () => {
      if (result instanceof DomainError) follower.reject(result);
      else follower.resolve(result);
    });
  }

  /** Reads the list of an account, also for what happens meanwhile. Never rejects. */
  async function readList(account: Account): Promise<void> {
    account.hasNews = true;
    if (account.isBeingRead) return;
    account.isBeingRead = true;
    for (let [first] = account.followers; first && account.hasNews; [first] = account.followers) {
      const endRead = await runAs(first.sender, limitRead.begin);
      account.hasNews = false;
      await runAs(SERVER, () => readFor(account, [...account.followers]));
      endRead();
    }
    account.isBeingRead = false;
  }

  /** Never rejects. */
  async function readFor(account: Account, followers: readonly Follower[]): Promise<void> {
    const [first] = followers;
    if (!first) return;
    try {
      await nextTurn();
      const changes = await readListChanges({ engine, avatars }, first.caller, followers);
      // After the read, because a caller whose session has ended must not get later changes.
      const ended = await findEnded(followers);
      const pause = pausing();
      for (const [i, follower] of followers.entries()) {
        await pause();
        if (!account.followers.has(follower)) continue;
        if (ended.has(follower)) end(follower, sessionEnded());
        else respond(account, follower, changes[i] as ListChanges);
      }
    } catch (error) {
      let hasWaited = false;
      for (const follower of followers) {
        if (follower.cancelWait) {
          hasWaited = true;
          continue;
        }
        leave(follower);
        follower.reject(error);
      }
      if (hasWaited) onFailure(error);
    }
  }

  function respond(account: Account, follower: Follower, changes: ListChanges): void {
    if (changes.items.length + changes.leftSpaceIds.length > 0 || !changes.isComplete) {
      end(follower, changes);
      return;
    }
    follower.position = changes.newer;
    // The changes of this part were in spaces that the user has just lost.
    if (changes.newer.part) account.hasNews = true;
    else if (follower.waitMs === 0 || waits.isEnding) end(follower, changes);
    else beginWaiting(follower);
  }

  function beginWaiting(follower: Follower): void {
    if (follower.cancelWait) return;
    const endWait = () => end(follower, noChanges(follower));
    follower.cancelWait = waits.begin(follower.sender, follower.waitMs, endWait);
    for (const poll of polls) poll.start();
  }

  async function endWithoutSession(): Promise<void> {
    const followers = [...accounts.values()].flatMap((account) => [...account.followers]);
    for (let i = 0; i < followers.length; i += GROUP_SIZE) {
      for (const follower of await findEnded(followers.slice(i, i + GROUP_SIZE))) {
        if (accounts.get(follower.caller.userPk)?.followers.has(follower)) {
          end(follower, sessionEnded());
        }
      }
      await nextTurn();
    }
  }

  async function findEnded(followers: readonly Follower[]): Promise<Set<Follower>> {
    const sessionPks = new Set(followers.map(({ caller }) => caller.sessionPk));
    const sessions = new Set(await findSessions(engine.db, sessionPks));
    return new Set(followers.filter(({ caller }) => !sessions.has(caller.sessionPk)));
  }

  /** Reads the lists of those who wait, if anything has happened at all since each was read. */
  async function readInTurn(): Promise<void> {
    const { snapshot } = await engine.readCommits();
    const deadline = performance.now() + MAX_POLL_READ_MS;
    for (const account of [...accounts.values()]) {
      if (performance.now() > deadline) return;
      if (accounts.get(account.userPk) !== account || account.isBeingRead) continue;
      accounts.delete(account.userPk);
      accounts.set(account.userPk, account);
      const isKnown = ({ position }: Follower) => includes(position.since.snapshot, snapshot);
      if (![...account.followers].every(isKnown)) await readList(account);
    }
  }

  return {
    follow(request, onDisconnect) {
      listen();
      const { promise, resolve, reject } = Promise.withResolvers<ListChanges>();
      const follower: Follower = {
        ...request,
        sender: currentSender(),
        cancelWait: undefined,
        resolve,
        reject,
      };
      void readList(enter(follower));
      onDisconnect(() => end(follower, noChanges(follower)));
      return promise;
    },
    close() {
      clearTimeout(eventTimer);
      for (const poll of polls) poll.stop();
    },
  };
}

function noChanges({ position }: Follower): ListChanges {
  return { items: [], leftSpaceIds: [], newer: position, isComplete: true };
}
