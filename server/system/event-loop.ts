import { MAX_WAIT_MS, overloaded } from './concurrency.ts';
import { FairQueue } from './fair-queue.ts';
import { currentSender, runAs, type Sender } from './senders.ts';

/** After this time, the event loop reads what has arrived meanwhile. */
const SLICE_MS = 1;

/** Each takes up to 20 KB, with its connection. Beyond it, the newest one of the sender with the most of them fails. */
const MAX_WAITING = 5_000;

/** Added to the time of each turn, for what happens before it: parsing the request. */
const OVERHEAD_MS = 0.1;

interface Turn {
  sender: Sender;
  begin: () => void;
  /** Undefined if the sender waits as long as it takes. */
  reject: ((error: Error) => void) | undefined;
  enqueuedAt: number;
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
 * @param reject called with DomainError `unavailable` if too many turns are waiting, or if this one has waited for more
 *   than 2 seconds. Without it, the sender waits for as long as it takes.
 */
export function takeTurn(sender: Sender, begin: () => void, reject?: (error: Error) => void): void {
  const now = performance.now();
  const turn = { sender, begin, reject, enqueuedAt: now };
  if (!isSliceScheduled) {
    // Nobody waits, and the event loop has just read new requests.
    sliceEndsAt = now + SLICE_MS;
    scheduleSlice();
  }
  if (queue.size === 0 && now < sliceEndsAt) {
    run(turn, () => {});
    return;
  }
  queue.add(sender, turn);
  if (queue.size > MAX_WAITING) shed();
}

function shed(): void {
  const newest = queue.longestLine().at(-1);
  if (!newest?.reject) return;
  queue.remove(newest.sender, newest);
  newest.reject(overloaded());
}

/** Lets the event loop read new requests, and waits for the next turn of a sender, by default of the current one. */
export function nextTurn(sender = currentSender()): Promise<void> {
  return new Promise((begin) => {
    queue.add(sender, { sender, begin, reject: undefined, enqueuedAt: performance.now() });
    if (!isSliceScheduled) scheduleSlice();
  });
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
  const next = performance.now() < sliceEndsAt ? queue.next() : undefined;
  if (!next) {
    endSlice();
    isSliceScheduled = queue.size > 0;
    if (isSliceScheduled) scheduleSlice();
  } else if (next.reject && performance.now() - next.enqueuedAt > MAX_WAIT_MS) {
    run({ ...next, begin: () => next.reject?.(overloaded()) }, continueSlice);
  } else run(next, continueSlice);
}

function run({ sender, begin }: Turn, onEnd: () => void): void {
  const startedAt = performance.now();
  runAs(sender, begin);
  // Ticks run after all microtasks, in which the turn continues after each `await` of something that is ready.
  queueMicrotask(() =>
    process.nextTick(() => {
      queue.charge(sender, OVERHEAD_MS + performance.now() - startedAt);
      onEnd();
    }),
  );
}
