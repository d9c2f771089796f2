import { once } from 'node:events';
import { createServer, type RequestListener, type ServerOptions } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server of a test, not the service. Disposing of it closes its connections. */
export interface HttpServer extends AsyncDisposable {
  url: string;
}

/** Starts a server on the loopback interface, on a free port by default. */
export async function startHttpServer(
  listener: RequestListener,
  { port = 0, ...options }: ServerOptions & { port?: number } = {},
): Promise<HttpServer> {
  const server = createServer(options, listener).listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
