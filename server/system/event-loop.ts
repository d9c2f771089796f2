import { MAX_WAIT_MS, overloaded } from './concurrency.ts';
import { FairQueue } from './fair-queue.ts';
import { currentSender, runAs, type Sender } from './senders.ts';

/** Maximum duration of a slice before the event loop reads new requests, unless one turn takes longer. */
const SLICE_MS = 1;

/** Each takes up to 20 KB, with its connection. Beyond it, the newest request of the longest line fails. */
const MAX_WAITING = 5_000;

/** Added to the time of each turn, for what happens before it: parsing the request. */
const OVERHEAD_MS = 0.1;

interface Turn {
  sender: Sender;
  /** In which it waits. Its time is charged to it, and to the sender. */
  line: Sender;
  begin: () => void;
  /** Undefined for requests that have already begun, because they cannot be rejected. */
  reject: ((error: Error) => void) | undefined;
  /** Until when it may wait, as of `performance.now()`. */
  deadline: number;
}

const queue = new FairQueue<Turn>();

/** Also while it runs. */
let isSliceScheduled = false;
let sliceEndsAt = 0;
let sliceEnd: PromiseWithResolvers<void> | undefined;

/**
 * Waits until no more turns of the current slice begin. What a request reads then can be shared by all requests of the
 * slice, which have arrived before.
 */
export function endOfSlice(): Promise<void> {
  sliceEnd ??= Promise.withResolvers();
  if (!isSliceScheduled) scheduleSlice();
  return sliceEnd.promise;
}

function endSlice(): void {
  sliceEnd?.resolve();
  sliceEnd = undefined;
}

/**
 * Calls `begin` on behalf of a sender when its turn has come. The turn ends when `begin` and all that it has caused wait
 * for something else, such as a query of PostgreSQL. Without this, the event loop would run everything that has arrived,
 * which one client can send on many connections, before it reads the requests of others.
 * @param reject    called with DomainError `unavailable` if too many turns are waiting, or if this one has waited for too
 *   long; undefined for requests that have already begun
 * @param maxWaitMs by default, 2 seconds
 */
export function takeTurn(
  sender: Sender,
  begin: () => void,
  reject?: (error: Error) => void,
  maxWaitMs = MAX_WAIT_MS,
): void {
  const now = performance.now();
  const turn = { sender, line: sender, begin, reject, deadline: now + maxWaitMs };
  if (!isSliceScheduled) {
    // The queue is empty, and the event loop has just read new requests.
    sliceEndsAt = now + SLICE_MS;
    scheduleSlice();
  }
  if (queue.size === 0 && now < sliceEndsAt) {
    run(turn, now, () => {});
    return;
  }
  queue.add(sender, turn);
  if (queue.size > MAX_WAITING) shed();
}

function shed(): void {
  const newest = queue.longestLine().findLast(({ reject }) => reject);
  if (!newest) return;
  queue.remove(newest.sender, newest);
  newest.reject?.(overloaded());
}

/**
 * Lets the event loop read new requests, and waits for the next turn.
 * @param line in which to wait. Work that others wait for, such as a search, must wait in that of the server. Otherwise
 *   they would wait for all accounts of its network.
 */
export function nextTurn(line = currentSender()): Promise<void> {
  const sender = currentSender();
  return new Promise((begin) => {
    queue.add(line, { sender, line, begin, reject: undefined, deadline: Infinity });
    if (!isSliceScheduled) scheduleSlice();
  });
}

/** Returns a function for each step of a long loop, which waits for the next turn when this one has taken SLICE_MS. */
export function pausing(): () => Promise<void> {
  let endsAt = performance.now() + SLICE_MS;
  return async () => {
    if (performance.now() < endsAt) return;
    await nextTurn();
    endsAt = performance.now() + SLICE_MS;
  };
}

function scheduleSlice(): void {
  isSliceScheduled = true;
  setImmediate(() => {
    // The slice in which the event loop has read new requests ends.
    endSlice();
    sliceEndsAt = performance.now() + SLICE_MS;
    continueSlice();
  });
}

function continueSlice(): void {
  const now = performance.now();
  const next = now < sliceEndsAt ? queue.next() : undefined;
  if (!next) {
    endSlice();
    isSliceScheduled = queue.size > 0;
    if (isSliceScheduled) scheduleSlice();
  } else if (next.reject && now > next.deadline) {
    run({ ...next, begin: () => next.reject?.(overloaded()) }, now, continueSlice);
  } else run(next, now, continueSlice);
}

/** @param startedAt before the turn was selected, because that takes time, too */
function run({ sender, line, begin }: Turn, startedAt: number, onEnd: () => void): void {
  try {
    runAs(sender, begin);
  } finally {
    // Ticks run after all microtasks, in which the turn continues after each `await` of something that is ready.
    queueMicrotask(() =>
      process.nextTick(() => {
        const used = OVERHEAD_MS + performance.now() - startedAt;
        queue.charge(sender, used);
        if (line !== sender) queue.charge(line, used);
        onEnd();
      }),
    );
  }
}
