import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import rateLimit from '@fastify/rate-limit';
import Sqlite from 'better-sqlite3';
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify';
import ipaddr from 'ipaddr.js';
import {
  BurstyRateLimiter,
  type RateLimiterAbstract,
  RateLimiterRes,
  RateLimiterSQLite,
} from 'rate-limiter-flexible';
import type { Config } from '../config.ts';
import { DomainError } from '../errors.ts';
import { HttpProblem, statuses } from './problems.ts';

/**
 * Does `work` if the limit allows it, for whom `key` names. What the contract refuses as invalid (400) does not
 * count, nor what overload keeps from being done (503); of some limits, neither does what succeeds.
 * @throws HttpProblem `too_many_requests`
 */
export type Limit = <T>(reply: FastifyReply, key: string, work: () => Promise<T>) => Promise<T>;

export interface Limits {
  /** Failures, by address and client. */
  login: Limit;
  /** By client. */
  register: Limit;
  /** By account. */
  username: Limit;
  /** By account. */
  picture: Limit;
  /** Failures, by session. */
  password: Limit;
  /** Forgets the counts that count no more. */
  clearExpired(): Promise<void>;
  close(): void;
}

const MINUTE = 60;

/** Opens the limits, whose counts all processes on the data folder share. */
export async function openLimits(config: Pick<Config, 'dataDir' | 'rateLimits'>): Promise<Limits> {
  if (!config.rateLimits) {
    const none: Limit = (_reply, _key, work) => work();
    return {
      ...{ login: none, register: none, username: none, picture: none, password: none },
      async clearExpired() {},
      close() {},
    };
  }
  await mkdir(config.dataDir, { recursive: true });
  const storeClient = new Sqlite(join(config.dataDir, 'limits.sqlite'), { timeout: 100 });
  storeClient.pragma('journal_mode = WAL');
  // A count that a power failure loses does no harm.
  storeClient.pragma('synchronous = OFF');
  const tables: string[] = [];
  const store = (name: string, points: number, duration: number) =>
    new Promise<RateLimiterSQLite>((resolve, reject) => {
      const limiter: RateLimiterSQLite = new RateLimiterSQLite(
        {
          ...{ storeClient, storeType: 'better-sqlite3', tableName: name, keyPrefix: '' },
          // By itself it would do so on a timer, and end the process if the disk is full.
          ...{ points, duration, clearExpiredByTimeout: false },
        },
        (error?: Error) => (error ? reject(error) : setImmediate(() => resolve(limiter))),
      );
      tables.push(name);
    });

  const manyTries = await store('password', 100, 500);
  const thenSlowly = await store('password_slowly', 1, 5);
  return {
    login: limit(await store('login', 30, 5 * MINUTE), { countsFailures: true }),
    register: limit(await store('register', 60, MINUTE)),
    username: limit(await store('username', 20, 5 * MINUTE)),
    picture: limit(await store('picture', 60, 30 * MINUTE)),
    password: limit(manyTries, { countsFailures: true, afterwards: thenSlowly }),
    async clearExpired() {
      for (const each of tables) {
        storeClient.prepare(`DELETE FROM ${each} WHERE expire < ?`).run(Date.now());
      }
    },
    close: () => storeClient.close(),
  };
}

function limit(
  limiter: RateLimiterAbstract,
  {
    countsFailures = false,
    afterwards,
  }: { countsFailures?: boolean; afterwards?: RateLimiterAbstract } = {},
): Limit {
  const limiters = afterwards ? [limiter, afterwards] : [limiter];
  const gate = afterwards ? new BurstyRateLimiter(limiter, afterwards) : limiter;
  /** How many tries of each key this process is at. */
  const underWay = new Map<string, number>();

  return async (reply, key, work) => {
    // The store must not tell who was here, nor keep what an erased account was called.
    const hash = createHash('sha256').update(key).digest('base64url');
    // Counted before the work is done, so that many at once cannot all slip through.
    let { state, isRefused } = await consume(gate, hash);
    if (state.msBeforeNext > limiter.duration * 1000) {
      // The clock was ahead when the count began.
      for (const each of limiters) await each.delete(hash);
      ({ state, isRefused } = await consume(gate, hash));
    }
    const tries = underWay.get(hash) ?? 0;
    // Those under way may yet succeed, and then do not count.
    const mayPassSoon = countsFailures && state.consumedPoints - tries <= limiter.points;
    const seconds =
      mayPassSoon && isRefused ? 1 : Math.max(1, Math.ceil(state.msBeforeNext / 1000));
    reply.headers({
      'ratelimit-limit': limiter.points,
      'ratelimit-remaining': state.remainingPoints,
      'ratelimit-reset': seconds,
    });
    if (isRefused) throw tooMany(seconds);

    underWay.set(hash, tries + 1);
    try {
      const result = await work();
      if (countsFailures) for (const each of limiters) await each.delete(hash);
      return result;
    } catch (error) {
      if (error instanceof DomainError && [400, 503].includes(statuses[error.code])) {
        await limiter.reward(hash);
      }
      throw error;
    } finally {
      const left = (underWay.get(hash) ?? 1) - 1;
      if (left > 0) underWay.set(hash, left);
      else underWay.delete(hash);
    }
  };
}

async function consume(
  limiter: Pick<RateLimiterAbstract, 'consume'>,
  key: string,
): Promise<{ state: RateLimiterRes; isRefused: boolean }> {
  try {
    return { state: await limiter.consume(key), isRefused: false };
  } catch (rejection) {
    if (!(rejection instanceof RateLimiterRes)) throw rejection;
    return { state: rejection, isRefused: true };
  }
}

/** The hook that counts public reads by client, in each process for itself; none if the operator has set no limit. */
export async function limitPublicReads(
  app: FastifyInstance,
  { rateLimits, publicRateLimit }: Pick<Config, 'rateLimits' | 'publicRateLimit'>,
): Promise<onRequestHookHandler[]> {
  if (!rateLimits || publicRateLimit === null) return [];
  await app.register(rateLimit, {
    global: false,
    enableDraftSpec: true,
    max: publicRateLimit,
    timeWindow: MINUTE * 1000,
    keyGenerator: clientKey,
    errorResponseBuilder: (_request, { ttl }) => tooMany(Math.max(1, Math.ceil(ttl / 1000))),
  });
  // One hook for all routes: the library counts for each hook apart.
  return [app.rateLimit()];
}

/** Whom a limit by client counts: an IPv4 address, or the /64 block that an IPv6 address is one of very many in. */
export function clientKey({ ip, socket }: Pick<FastifyRequest, 'ip' | 'socket'>): string {
  // Some proxies send a port along. What is no address at all tells nothing but whose proxy sent it.
  const [, bracketed, dotted] = /^(?:\[(.+)\](?::\d+)?|([\d.]+):\d+)$/.exec(ip) ?? [];
  const forwarded = bracketed ?? dotted ?? ip;
  const address = ipaddr.isValid(forwarded) ? forwarded : (socket.remoteAddress ?? '');
  if (!ipaddr.isValid(address)) return 'unknown';
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv4'
    ? parsed.toString()
    : (parsed as ipaddr.IPv6).parts.slice(0, 4).join(':');
}

function tooMany(seconds: number): HttpProblem {
  return new HttpProblem(
    'too_many_requests',
    `Too many requests. Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`,
    { headers: { 'retry-after': String(seconds) } },
  );
}
