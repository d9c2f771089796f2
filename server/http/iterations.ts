import type { FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import { overloaded } from '../system/concurrency.ts';
import { readSender } from './client-key.ts';
import { mayWaitForMessages } from './waits.ts';

/** Number of requests that a sender begins in one iteration of the event loop. Further ones begin in the next. */
const MAX_BEGUN = 2;

/** They take up to about half a second. */
const MAX_WAITING = 100;

interface Requests {
  begun: number;
  /** Functions that begin the waiting requests, in the order of their arrival. */
  waiting: (() => void)[];
}

/**
 * Returns an `onRequest` hook that delays requests of a sender that arrive together. Most handlers never wait, because
 * they read from SQLite. Without this hook, a server would respond to all requests that have arrived, which one client
 * can send on many connections, before it reads those of others.
 *
 * A sender is an account, or a client without a token. Only the beginning of a request counts, so that a sender can
 * have any number of requests that wait for messages or PostgreSQL.
 *
 * The event loop is not late while requests wait here, so `shedLoad` does not notice a sender with too many. If 100 are
 * waiting, the hook rejects further ones with DomainError `unavailable`, unless they may wait for messages.
 */
export function limitPerIteration(): onRequestAsyncHookHandler {
  const senders = new Map<string, Requests>();

  function beginNext(): void {
    for (const [sender, requests] of senders) {
      const next = requests.waiting.splice(0, MAX_BEGUN);
      requests.begun = next.length;
      if (next.length === 0) senders.delete(sender);
      for (const begin of next) begin();
    }
    if (senders.size > 0) setImmediate(beginNext);
  }

  return async (request, { raw: response }) => {
    const sender = senderOf(request);
    const requests = senders.get(sender) ?? { begun: 0, waiting: [] };
    if (senders.size === 0) setImmediate(beginNext);
    senders.set(sender, requests);
    if (requests.begun < MAX_BEGUN) {
      requests.begun += 1;
      return;
    }
    if (requests.waiting.length >= MAX_WAITING && !mayWaitForMessages(request)) throw overloaded();
    await new Promise<void>((begin) => requests.waiting.push(begin));
    // The client has disconnected.
    if (response.closed) throw overloaded();
  };
}

function senderOf(request: FastifyRequest): string {
  return request.caller ? `account ${request.caller.userId}` : readSender(request).client;
}
