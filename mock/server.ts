import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Application } from '#stateful-mock';
import { contractFor, contractTextFor, findOperation } from '../server/contract.ts';
import { corsHeaders, preflightHeaders } from '../server/http/cors-headers.ts';
import { HttpProblem, problemDocument } from '../server/http/problems.ts';
import { type Examples, type MockResponse, openExamples } from './examples.ts';
import { type NextPreferences, openNextPreferences, readPreferences } from './preferences.ts';

export interface MockOptions {
  host: string;
  /** 0 for any free port. */
  port: number;
  /** Whether to run the server on sample data instead of returning the contract's examples. */
  isStateful: boolean;
}

/** A running mock server. Disposing of it stops it. */
export interface Mock extends AsyncDisposable {
  url: string;
}

const defaultAvatar = readFileSync(new URL('../server/avatars/default.webp', import.meta.url));

/** What captive portals and proxies send instead of the response of a server. */
const HTML_PAGE =
  '<!doctype html><html lang="en"><title>A page of the network</title><p>This is not the server.</p></html>';

/** @throws Error if the mock cannot listen */
export async function startMock({ host, port, isStateful }: MockOptions): Promise<Mock> {
  const server = createServer();
  server.listen(port, host);
  await once(server, 'listening');
  const hostInUrl = host.includes(':') ? `[${host}]` : host;
  const url = `http://${hostInUrl}:${(server.address() as AddressInfo).port}`;

  // Requests that arrive earlier wait until the mock is ready.
  const starting = Promise.all([
    openExamples(url),
    // The packages of the server are loaded only when needed. In the npm package, they are optional.
    isStateful ? import('#stateful-mock').then((module) => module.openApplication(url)) : undefined,
  ]);
  const nextPreferences = openNextPreferences();
  server.on('request', async (incoming, outgoing) => {
    try {
      await handle(url, incoming, outgoing, nextPreferences, ...(await starting));
    } catch (error) {
      // The client has disconnected during its upload.
      if (incoming.socket.destroyed) return;
      send(outgoing, problemResponse(error));
    }
  });
  server.on('clientError', rejectMalformed);
  const [, application] = await starting;
  return {
    url,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await application?.[Symbol.asyncDispose]();
    },
  };
}

/** Responds to headers that are too large, so that they never become a `request`. Otherwise does what Node.js does. */
function rejectMalformed({ code }: NodeJS.ErrnoException, socket: Socket): void {
  if (code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  if (code !== 'HPE_HEADER_OVERFLOW') {
    socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n');
    return;
  }
  const outgoing = new ServerResponse(new IncomingMessage(socket));
  outgoing.assignSocket(socket);
  outgoing.shouldKeepAlive = false;
  outgoing.on('finish', () => socket.end());
  const detail = 'The request line and headers are too large.';
  send(outgoing, problemResponse(new HttpProblem('headers_too_large', detail)));
}

async function handle(
  baseUrl: string,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  nextPreferences: NextPreferences,
  respond: Examples,
  application: Application | undefined,
): Promise<void> {
  const { method = '', url = '', headers } = incoming;
  const preferences = readPreferences(headers.prefer?.toString());
  if (method === 'POST' && url.startsWith('/__next/')) {
    nextPreferences.add(url.slice('/__next/'.length), headers.authorization, preferences);
    return send(outgoing, { status: 204, headers: {}, body: '' });
  }
  if (method === 'POST' && url === '/__reset') {
    nextPreferences.clear();
    await application?.reset();
    return send(outgoing, { status: 204, headers: {}, body: '' });
  }
  if (method === 'GET' && url === '/__mails') {
    return sendFile(outgoing, 'application/json', JSON.stringify(application?.mails() ?? []));
  }
  const operation = findOperation(method, url.replace(/\?.*/s, ''));
  const chosen = nextPreferences.take(operation?.operationId, headers.authorization) ?? preferences;
  await sleep(chosen.delayMs);
  // The client has disconnected during the delay.
  if (incoming.socket.destroyed) return;
  if (chosen.disconnection === 'before') return void incoming.socket.destroy();
  if (chosen.disconnection === 'after') disconnectInstead(outgoing);
  if (chosen.htmlStatus !== undefined) {
    const type = { 'content-type': 'text/html; charset=utf-8' };
    return send(outgoing, { status: chosen.htmlStatus, headers: type, body: HTML_PAGE });
  }
  if (application && chosen.selection === undefined) return application.handle(incoming, outgoing);
  if (method === 'OPTIONS') {
    return send(outgoing, { status: 204, headers: preflightHeaders('*', headers), body: '' });
  }
  if (url === '/openapi.yaml') {
    return sendFile(outgoing, 'application/yaml', contractTextFor(baseUrl));
  }
  if (url === '/openapi.json') {
    return sendFile(outgoing, 'application/json', JSON.stringify(contractFor(baseUrl)));
  }
  // Every avatar is the default avatar.
  if (url.startsWith('/avatars/')) return sendFile(outgoing, 'image/webp', defaultAvatar);
  send(outgoing, await respond(incoming, chosen));
}

/** Makes the first attempt to respond close the connection, when the request has been processed. */
function disconnectInstead(outgoing: ServerResponse): void {
  outgoing.writeHead = () => outgoing.destroy();
}

function send(outgoing: ServerResponse, { status, headers, body }: MockResponse): void {
  const shared = { 'cache-control': 'no-store', 'x-request-id': randomUUID() };
  outgoing.writeHead(status, { ...corsHeaders('*'), ...shared, ...headers }).end(body);
}

function sendFile(outgoing: ServerResponse, type: string, body: string | Buffer): void {
  send(outgoing, { status: 200, headers: { 'content-type': type }, body });
}

function problemResponse(error: unknown): MockResponse {
  if (!(error instanceof HttpProblem)) {
    console.error(error);
    const detail = 'The mock server failed. Its terminal shows the error.';
    return problemResponse(new HttpProblem('internal', detail));
  }
  const problem = problemDocument(error.code, error.message, randomUUID(), error.pointers);
  return {
    status: problem.status,
    headers: { 'content-type': 'application/problem+json', 'x-request-id': problem.request_id },
    body: JSON.stringify(problem),
  };
}
