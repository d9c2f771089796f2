import { runAs, SERVER } from './senders.ts';

/**
 * Maximum interval at which waiting requests check whether their sessions have ended. With the check itself, less than the
 * second within which a revoked access token ends the waits of all processes.
 */
export const MAX_POLL_INTERVAL_MS = 900;

/** Work of the server that repeats while requests wait for what it may find. */
export interface Poll {
  /** Does nothing if the work already repeats. */
  start(): void;
  /** Does not wait for the end of work that has begun. */
  stop(): void;
}

/**
 * @param firstDelayMs from the start to the first work
 * @param work         never rejects; returns the time until it repeats in milliseconds, undefined if no request waits
 */
export function openPoll(firstDelayMs: number, work: () => Promise<number | undefined>): Poll {
  let timer: NodeJS.Timeout | undefined;

  function schedule(delayMs: number): void {
    timer = setTimeout(() => runAs(SERVER, repeat), delayMs).unref();
  }

  async function repeat(): Promise<void> {
    const delayMs = await work();
    const isStopped = timer === undefined;
    timer = undefined;
    if (delayMs !== undefined && !isStopped) schedule(delayMs);
  }

  return {
    start() {
      if (timer === undefined) schedule(firstDelayMs);
    },
    stop() {
      clearTimeout(timer);
      timer = undefined;
    },
  };
}
