import type { FastifyRequest } from 'fastify';
import type { Context } from '../context.ts';
import { RateExceededError } from '../errors.ts';
import { overloaded } from '../system/concurrency.ts';
import { readSender } from './client-key.ts';

/** Maximum number of waiting requests of this process. Each takes several kilobytes. */
const MAX_WAITS = 10_000;

/** An account waits for each space that it shows on each of its devices. */
const MAX_WAITS_PER_ACCOUNT = 20;

/** Many people can share an IP address. */
const MAX_WAITS_PER_CLIENT = 200;

/** Those of an IPv6 network can come from many addresses, see `Sender`. */
const MAX_WAITS_PER_NETWORK = 2_000;

const RETRY_AFTER_SECONDS = 5;

/**
 * Returns a function that runs work for a request that waits, if not too many requests of the same account, client or
 * network are waiting in this process. Without a limit of public reads, only their total number is limited.
 *
 * The function throws RateExceededError, or DomainError `unavailable` beyond the total number.
 */
export function limitWaits(
  context: Pick<Context, 'config'>,
): <T>(request: FastifyRequest, work: () => Promise<T>) => Promise<T> {
  const counts = new Map<string, number>();
  let total = 0;

  return async (request, work) => {
    const limits = context.config.publicRateLimit === null ? [] : limitsOf(request);
    if (limits.some(([key, limit]) => (counts.get(key) ?? 0) >= limit)) {
      throw new RateExceededError('Too many requests are waiting.', RETRY_AFTER_SECONDS);
    }
    if (total >= MAX_WAITS) throw overloaded();
    total += 1;
    for (const [key] of limits) counts.set(key, (counts.get(key) ?? 0) + 1);
    try {
      return await work();
    } finally {
      total -= 1;
      for (const [key] of limits) {
        const count = (counts.get(key) ?? 0) - 1;
        if (count > 0) counts.set(key, count);
        else counts.delete(key);
      }
    }
  };
}

/**
 * Whether a request may wait for messages. A message makes all readers of a space send their next request at the same
 * time, and these requests share queries. So they are never rejected as an overload.
 */
export function mayWaitForMessages({ routeOptions, query }: FastifyRequest): boolean {
  const { operation } = routeOptions.config;
  const { wait } = query as { wait?: unknown };
  return operation?.operationId === 'listMessages' && wait !== undefined;
}

function limitsOf(request: FastifyRequest): [key: string, limit: number][] {
  const { client, network } = readSender(request);
  const { caller } = request;
  return [
    [`client ${client}`, MAX_WAITS_PER_CLIENT],
    [`network ${network}`, MAX_WAITS_PER_NETWORK],
    ...(caller ? [[`account ${caller.userId}`, MAX_WAITS_PER_ACCOUNT] as [string, number]] : []),
  ];
}
