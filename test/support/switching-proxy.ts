import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A TCP proxy with one address for servers that replace each other, like HAProxy in front of PostgreSQL. */
export interface SwitchingProxy extends AsyncDisposable {
  port: number;
  /** Returns the URL of a database through the proxy. */
  urlOf(databaseUrl: string): string;
  /**
   * Routes new connections to another port of this machine and closes all others. With null, closes new ones, too, like
   * a proxy without a healthy server.
   */
  switchTo(port: number | null): void;
}

export async function startSwitchingProxy(): Promise<SwitchingProxy> {
  let target: number | null = null;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    if (target === null) {
      client.destroy();
      return;
    }
    const upstream = connect(target, '127.0.0.1');
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.pipe(other);
      // `close` follows, and closes the other connection.
      socket.on('error', () => {});
      socket.once('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
  });
  const closeConnections = () => {
    for (const socket of sockets) socket.destroy();
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    urlOf(databaseUrl) {
      const url = new URL(databaseUrl);
      url.port = String(port);
      return url.href;
    },
    switchTo(other) {
      target = other;
      closeConnections();
    },
    async [Symbol.asyncDispose]() {
      closeConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
