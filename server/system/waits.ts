import { nextTurn } from './event-loop.ts';
import { FairQueue } from './fair-queue.ts';
import type { Sender } from './senders.ts';

/** Maximum number of waiting requests of this process. Each takes several kilobytes. */
const MAX_WAITING = 10_000;

/** A request that waits until something happens. */
interface Wait {
  sender: Sender;
  timeout: NodeJS.Timeout;
  /** Responds that nothing has happened. */
  end: () => void;
}

/** The waiting requests of this process, whatever they wait for, so that an account cannot wait for more of them. */
export interface Waits {
  /**
   * Calls `end` after `waitMs`, or earlier if the server stops, or if too many requests wait and the account of the sender
   * waits most often.
   * @returns a function that cancels the call
   */
  begin(sender: Sender, waitMs: number, end: () => void): () => void;
  /** Number of waiting requests. */
  readonly count: number;
  /** Whether the server stops. Then requests must not wait. */
  readonly isEnding: boolean;
  /** Ends all waits. */
  endAll(): Promise<void>;
}

export function openWaits(maxWaiting = MAX_WAITING): Waits {
  const waits = new Set<Wait>();
  const lines = new FairQueue<Wait>();
  let isEnding = false;

  function remove(wait: Wait): void {
    clearTimeout(wait.timeout);
    waits.delete(wait);
    lines.remove(wait.sender, wait);
  }

  function end(wait: Wait): void {
    remove(wait);
    wait.end();
  }

  return {
    begin(sender, waitMs, onEnd) {
      const wait: Wait = { sender, timeout: setTimeout(() => end(wait), waitMs), end: onEnd };
      waits.add(wait);
      lines.add(sender, wait);
      const longest = lines.size > maxWaiting ? lines.longestLine()[0] : undefined;
      if (longest) end(longest);
      return () => remove(wait);
    },
    get count() {
      return waits.size;
    },
    get isEnding() {
      return isEnding;
    },
    async endAll() {
      isEnding = true;
      for (const wait of [...waits]) {
        await nextTurn();
        if (waits.has(wait)) end(wait);
      }
    },
  };
}
