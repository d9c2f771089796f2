import type { RouteHandlerMethod } from 'fastify';
import type { Caller } from '../auth/sessions.ts';
import { overloaded } from '../system/concurrency.ts';
import { callerOf } from './authentication.ts';

/** Number of requests that an account runs at the same time. Further ones wait for their turn. */
const MAX_CONCURRENT_REQUESTS = 2;

const MAX_WAIT_MS = 5_000;

interface Requests {
  running: number;
  /** Functions that begin the waiting requests, in the order of their arrival. */
  waiting: (() => void)[];
}

/**
 * Returns a function that wraps handlers, so that the requests of an account to them wait for each other. Then many
 * parallel requests of one account delay those of others as little as two, and use as little memory.
 *
 * A request runs until its response has been sent and its handler has ended. Its client can disconnect earlier, but the
 * work continues.
 *
 * The handlers throw DomainError `unavailable` if the request has waited for 5 seconds.
 * @param checkSession called for requests that have waited; rejects if the session has ended meanwhile
 */
export function limitPerAccount(
  checkSession: (caller: Caller) => Promise<void>,
): (handler: RouteHandlerMethod) => RouteHandlerMethod {
  const accounts = new Map<string, Requests>();

  async function waitForTurn({ waiting }: Requests): Promise<void> {
    const turn = Promise.withResolvers<void>();
    waiting.push(turn.resolve);
    const deadline = setTimeout(() => {
      const index = waiting.indexOf(turn.resolve);
      // Otherwise, the turn has come.
      if (index === -1) return;
      waiting.splice(index, 1);
      turn.reject(overloaded());
    }, MAX_WAIT_MS).unref();
    await turn.promise;
    clearTimeout(deadline);
  }

  function endTurn(userId: string, requests: Requests): void {
    // The next request takes over the turn. Requests of others run first.
    const next = requests.waiting.shift();
    if (next) setImmediate(next);
    else requests.running -= 1;
    if (requests.running === 0) accounts.delete(userId);
  }

  return (handler) =>
    async function (request, reply) {
      const caller = callerOf(request);
      const requests = accounts.get(caller.userId) ?? { running: 0, waiting: [] };
      accounts.set(caller.userId, requests);
      const mustWait = requests.running === MAX_CONCURRENT_REQUESTS;
      if (mustWait) await waitForTurn(requests);
      else requests.running += 1;
      try {
        if (mustWait) {
          // The client has disconnected.
          if (reply.raw.closed) throw overloaded();
          await checkSession(caller);
        }
        return await handler.call(this, request, reply);
      } finally {
        endTurn(caller.userId, requests);
      }
    };
}
