import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Application } from '#stateful-mock';
import { contractFor, contractTextFor } from '../server/contract.ts';
import { DomainError } from '../server/errors.ts';
import {
  clientErrorHandler,
  recordResponses,
  rejectUnsupportedExpectations,
} from '../server/http/client-errors.ts';
import { corsHeaders, preflightHeaders } from '../server/http/cors-headers.ts';
import { HttpProblem, methodNotAllowed, problemDocument } from '../server/http/problems.ts';
import { TIME_LIMITS, type TimeLimits } from '../server/http/time-limits.ts';
import { type Examples, type MockResponse, openExamples } from './examples.ts';
import { findOperation } from './paths.ts';
import { readPreferences } from './preferences.ts';

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

/** The default of the server. */
const CORS_ORIGINS = '*';

const defaultAvatar = readFileSync(new URL('../server/avatars/default.webp', import.meta.url));

/** @throws Error if the mock cannot listen */
export async function startMock(
  { host, port, isStateful }: MockOptions,
  { headersTimeoutMs, requestTimeoutMs, connectionCheckIntervalMs }: TimeLimits = TIME_LIMITS,
): Promise<Mock> {
  const server = createServer({
    headersTimeout: headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
    connectionsCheckingInterval: connectionCheckIntervalMs,
  });
  const log = { info() {} };
  server.on('clientError', clientErrorHandler({ corsOrigins: CORS_ORIGINS }, log));
  recordResponses({ server });
  rejectUnsupportedExpectations({ server, log });
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
  server.on('request', async (incoming, outgoing) => {
    try {
      await handle(url, incoming, outgoing, ...(await starting));
    } catch (error) {
      // The client has disconnected during its upload.
      if (incoming.socket.destroyed) return;
      send(outgoing, problemResponse(error));
    }
  });
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

async function handle(
  baseUrl: string,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  examples: Examples,
  application: Application | undefined,
): Promise<void> {
  const { method = '', url = '', headers } = incoming;
  const { selection, delayMs } = readPreferences(headers.prefer?.toString());
  await sleep(delayMs);
  // The client has disconnected during the delay.
  if (incoming.socket.destroyed) return;
  if (application && method === 'POST' && url === '/__reset') {
    await application.reset();
    return send(outgoing, { status: 204, headers: {}, body: '' });
  }
  if (application && selection === undefined) return application.handle(incoming, outgoing);
  if (method === 'OPTIONS') return send(outgoing, preflightResponse(incoming));
  const [path = ''] = url.split('?');
  const file = readFile(baseUrl, path);
  if (file) {
    if (method !== 'GET' && method !== 'HEAD') throw methodNotAllowed(method, ['GET', 'HEAD']);
    return send(outgoing, file);
  }
  const operation = findOperation(method, path);
  const response = selection
    ? examples.select(operation, incoming, selection)
    : examples.respond(operation, incoming);
  send(outgoing, await response);
}

function send(outgoing: ServerResponse, { status, headers, body }: MockResponse): void {
  const length = String(Buffer.byteLength(body));
  outgoing
    .writeHead(status, {
      'x-request-id': randomUUID(),
      ...corsHeaders(CORS_ORIGINS),
      ...headers,
      'content-length': length,
    })
    .end(body);
}

function problemResponse(error: unknown): MockResponse {
  const { code, message, pointers, headers } = problemOf(error);
  const problem = problemDocument(code, message, randomUUID(), pointers);
  return {
    status: problem.status,
    headers: {
      ...headers,
      'cache-control': 'no-store',
      'content-type': 'application/problem+json',
      'x-request-id': problem.request_id,
    },
    body: JSON.stringify(problem),
  };
}

function problemOf(error: unknown): HttpProblem {
  if (error instanceof HttpProblem) return error;
  if (error instanceof DomainError) {
    return new HttpProblem(error.code, error.message, { pointers: error.pointers });
  }
  console.error(error);
  return new HttpProblem('internal', 'The mock server failed. Its terminal shows the error.');
}

function preflightResponse({ headers }: IncomingMessage): MockResponse {
  return { status: 204, headers: preflightHeaders(CORS_ORIGINS, headers), body: '' };
}

/** Returns the response at a path outside of the contract. Undefined if there is none. */
function readFile(baseUrl: string, path: string): MockResponse | undefined {
  const respond = (type: string, body: string) => ({
    status: 200,
    headers: { 'content-type': type },
    body,
  });
  if (path === '/openapi.yaml') return respond('application/yaml', contractTextFor(baseUrl));
  if (path === '/openapi.json') {
    return respond('application/json', JSON.stringify(contractFor(baseUrl)));
  }
  return path.startsWith('/avatars/') ? avatarResponse() : undefined;
}

/** Every avatar is the default avatar. */
function avatarResponse(): MockResponse {
  return {
    status: 200,
    headers: {
      'content-type': 'image/webp',
      'cache-control': 'public, max-age=86400',
      'cross-origin-resource-policy': 'cross-origin',
    },
    body: defaultAvatar,
  };
}
