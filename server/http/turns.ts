import type { onRequestAsyncHookHandler } from 'fastify';
import { overloaded } from '../system/concurrency.ts';
import { callerOf } from './authentication.ts';

/** Number of requests that an account runs at the same time. Further ones wait for their turn. */
const MAX_CONCURRENT_REQUESTS = 2;

/** A request that has waited longer is rejected when its turn comes, because its client has probably given up. */
const MAX_WAIT_MS = 5_000;

/**
 * Returns a hook that makes the requests of an account wait for each other. Then many parallel requests of one account
 * delay those of others as little as two, and use as little memory. It runs after authentication, and before the body
 * is read.
 *
 * The hook throws DomainError `unavailable` if the request has waited too long.
 */
export function takeTurns(): onRequestAsyncHookHandler {
  /** The requests of each account in the order of their arrival, as functions that begin them. The first ones run. */
  const queues = new Map<string, (() => void)[]>();
  return async (request, { raw: response }) => {
    const { userId } = callerOf(request);
    const queue = queues.get(userId) ?? [];
    queues.set(userId, queue);
    const turn = Promise.withResolvers<void>();
    queue.push(turn.resolve);
    response.once('close', () => {
      const wasRunning = queue.indexOf(turn.resolve) < MAX_CONCURRENT_REQUESTS;
      queue.splice(queue.indexOf(turn.resolve), 1);
      if (queue.length === 0) queues.delete(userId);
      const next = queue[MAX_CONCURRENT_REQUESTS - 1];
      // Lets requests of others run first.
      if (wasRunning && next) setImmediate(next);
    });
    if (queue.length <= MAX_CONCURRENT_REQUESTS) return;
    const arrivedAt = performance.now();
    // Never settles if the connection is closed first.
    await turn.promise;
    if (performance.now() - arrivedAt > MAX_WAIT_MS) throw overloaded();
  };
}
