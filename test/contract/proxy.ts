import type { IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { findOperation } from '../../server/contract.ts';
import { type HttpServer, startHttpServer } from '../support/http-server.ts';

/** A request, and the response of the real server, which a fault changes before the client gets it. */
export interface ProxiedExchange {
  /** Undefined outside the contract. */
  operationId: string | undefined;
  method: string;
  /** Path and query. */
  path: string;
  authorization: string;
  requestBody: string;
  status: number;
  headers: Headers;
  body: string;
}

/** Headers that apply to one connection only, so the proxy does not forward them. */
const CONNECTION_HEADERS = [
  'connection',
  'content-length',
  'host',
  'keep-alive',
  'transfer-encoding',
];

/**
 * Starts a proxy on the loopback interface that changes responses of a server.
 * @param changeRequest changes the headers of each request
 */
export async function startProxy(
  target: string,
  change: (exchange: ProxiedExchange) => void | Promise<void>,
  changeRequest: (headers: Headers) => void = () => {},
): Promise<HttpServer> {
  const forward = async (request: IncomingMessage): Promise<ProxiedExchange> => {
    const { method = '', url: path = '' } = request;
    const body = await buffer(request);
    const headers = new Headers(request.headers as Record<string, string>);
    for (const name of CONNECTION_HEADERS) headers.delete(name);
    changeRequest(headers);
    const response = await fetch(target + path, {
      method,
      headers,
      body: body.length > 0 ? new Uint8Array(body) : null,
      redirect: 'manual',
    });
    return {
      operationId: findOperation(method, path.split('?', 1)[0] as string)?.operationId,
      method,
      path,
      authorization: headers.get('authorization') ?? '',
      requestBody: body.toString(),
      status: response.status,
      headers: new Headers(response.headers),
      body: await response.text(),
    };
  };
  return startHttpServer(
    async (request, response) => {
      const exchange = await forward(request).catch(() => undefined);
      // The client or the server has closed its connection. The other one sees the same.
      if (!exchange) return response.destroy();
      await change(exchange);
      for (const name of CONNECTION_HEADERS) exchange.headers.delete(name);
      response.writeHead(exchange.status, [...exchange.headers].flat());
      response.end(exchange.body);
    },
    // The server under test limits the size of headers, not the proxy.
    { maxHeaderSize: 65_536 },
  );
}
