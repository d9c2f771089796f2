import type { FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import { readSender } from './client-key.ts';

/** Number of requests that a sender begins in one iteration of the event loop. Further ones begin in the next. */
const MAX_BEGUN = 2;

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

  return async (request) => {
    const sender = senderOf(request);
    const requests = senders.get(sender) ?? { begun: 0, waiting: [] };
    if (senders.size === 0) setImmediate(beginNext);
    senders.set(sender, requests);
    if (requests.begun < MAX_BEGUN) requests.begun += 1;
    else await new Promise<void>((begin) => requests.waiting.push(begin));
  };
}

function senderOf(request: FastifyRequest): string {
  return request.caller ? `account ${request.caller.userId}` : readSender(request).client;
}
