import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** Operating systems assign higher ports to outgoing connections and to servers that listen on port 0. */
const MIN_UNASSIGNED_PORT = 20_000;
const MAX_UNASSIGNED_PORT = 32_767;

/** Each process that runs tests takes its ports from a range of its own, and all other programs from the rest. */
const RANGES = 32;
const RANGE_SIZE = 200;
const pool = Number(process.env.VITEST_POOL_ID ?? 0);
const start = MIN_UNASSIGNED_PORT + (pool % RANGES) * RANGE_SIZE;
const [FIRST_PORT, END] =
  pool > 0
    ? [start, start + RANGE_SIZE]
    : [MIN_UNASSIGNED_PORT + RANGES * RANGE_SIZE, MAX_UNASSIGNED_PORT + 1];

/** The ports that this process has returned last. The programs that listen on them may still be starting. */
const latest: number[] = [];
const MAX_LATEST = 100;

/** A port of 127.0.0.1 that is in use until it is disposed. */
export interface OccupiedPort extends AsyncDisposable {
  port: number;
}

/** Listens on a port. By default, the system chooses one. */
export async function occupyPort(port = 0): Promise<OccupiedPort> {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address() as AddressInfo;
  return {
    port: address.port,
    async [Symbol.asyncDispose]() {
      server.close();
      await once(server, 'close');
    },
  };
}

/**
 * Returns a free port of 127.0.0.1. Does not reserve it, but neither the system nor another process that runs tests
 * assigns it to anything else before the program under test listens on it.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST_PORT, END);
    if (latest.includes(port)) continue;
    latest.push(port);
    if (latest.length > MAX_LATEST) latest.shift();
    try {
      await using _ = await occupyPort(port);
      return port;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
  }
}
