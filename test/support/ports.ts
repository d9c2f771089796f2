import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** A port of 127.0.0.1 that is in use until it is disposed. */
export interface OccupiedPort extends AsyncDisposable {
  port: number;
}

export async function occupyPort(): Promise<OccupiedPort> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    async [Symbol.asyncDispose]() {
      server.close();
      await once(server, 'close');
    },
  };
}

/** Returns a free port of 127.0.0.1. Does not reserve it. */
export async function freePort(): Promise<number> {
  await using occupied = await occupyPort();
  return occupied.port;
}
