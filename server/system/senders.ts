import { AsyncLocalStorage } from 'node:async_hooks';

/** Whose work is done. Senders share the event loop, the database and everything else that is scarce evenly. */
export interface Sender {
  /** The network of the client, see `networkKey`. */
  network: string;
  /** The account of the caller, or the client if it is not signed in. */
  account: string;
  /** Increases with each request. Earlier requests of an account go first, so that they end before others begin. */
  request: number;
}

/** The sender of work that no request has caused. */
export const SERVER: Sender = { network: '', account: '', request: 0 };

const senders = new AsyncLocalStorage<Sender>();

/** Runs functions without any asynchronous context. */
const runAlone = AsyncLocalStorage.snapshot();

/**
 * Calls `work`. All that it does, also asynchronously, belongs to the sender, and to nothing else that the caller belongs
 * to, such as a transaction.
 */
export function runAs<T>(sender: Sender, work: () => T): T {
  return runAlone(() => senders.run(sender, work));
}

export function currentSender(): Sender {
  return senders.getStore() ?? SERVER;
}
