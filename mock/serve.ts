import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { resolvePort } from '../server/process/port.ts';
import { adaptResponse } from './responses.ts';

// Serves the examples in openapi.yaml, without a database: forwards requests to Prism and adapts its responses.

/** If Prism exits earlier, it has failed to start and is not restarted. */
const MIN_PRISM_UPTIME_MS = 5_000;
const READY_POLL_INTERVAL_MS = 100;

const { host, port } = readArguments();
const defaultAvatar = readFileSync(new URL('../server/avatars/default.webp', import.meta.url));
const server = createServer((incoming, outgoing) => void forward(incoming, outgoing));
server.listen(Number(port), host);
try {
  await once(server, 'listening');
} catch (error) {
  console.error((error as Error).message);
  process.exit(1);
}
const baseUrl = `http://${host}:${(server.address() as AddressInfo).port}`;

const prismPort = await resolvePort({ host: '127.0.0.1', port: 0 });
let prism: ChildProcess | undefined;
let isStopping = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    isStopping = true;
    server.close();
    server.closeAllConnections();
    prism?.kill('SIGTERM');
  });
}

let isAnnounced = false;
while (!isStopping) {
  const startedAt = Date.now();
  prism = spawn('prism', ['mock', 'openapi.yaml', '--port', String(prismPort), '--cors'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const exited = once(prism, 'exit');
  if (!isAnnounced) void announceWhenReady();
  const [code] = await exited;
  if (isStopping) break;
  if (Date.now() - startedAt < MIN_PRISM_UPTIME_MS) process.exit(code ?? 1);
  // A malformed multipart body crashes Prism.
  console.error('Prism crashed on a request. Restarting it.');
}

function readArguments(): { host: string; port: string } {
  try {
    const { values } = parseArgs({
      options: {
        host: { type: 'string', default: '127.0.0.1' },
        port: { type: 'string', default: '4010' },
      },
    });
    if (/^\d{1,5}$/.test(values.port)) return values;
  } catch {
    // Unknown option: print the usage below.
  }
  console.error('Usage: npm run mock -- [--host ADDRESS] [--port NUMBER]');
  process.exit(1);
}

async function announceWhenReady(): Promise<void> {
  while (!isStopping && !(await isPrismListening())) await sleep(READY_POLL_INTERVAL_MS);
  if (isStopping || isAnnounced) return;
  isAnnounced = true;
  console.log(`The mock server listens at ${baseUrl}. Its responses are the examples in openapi.yaml. Press Ctrl+C to stop it.

  curl -w '\\n' '${baseUrl}/api/spaces/search?q=bread'
  curl -w '\\n' -H 'Authorization: Bearer any' ${baseUrl}/api/profile/me
  curl -w '\\n' -H 'Authorization: Bearer any' -H 'Prefer: code=503' ${baseUrl}/api/profile/me      # any documented status
  curl -w '\\n' -H 'Prefer: code=409, example=email' -H 'Content-Type: application/json' \\
    -d '{"username":"ada","email":"ada@example.com","password":"correct horse battery"}' ${baseUrl}/api/auth/register
`);
}

function isPrismListening(): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(prismPort, '127.0.0.1');
    socket.once('error', () => resolve(false));
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });
}

/** Responds with Prism's response, adapted to the request. Every avatar is the default avatar. */
async function forward(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const { method, url = '/', headers } = incoming;
  if (url.startsWith('/avatars/')) {
    outgoing.writeHead(200, { 'content-type': 'image/webp', 'access-control-allow-origin': '*' });
    outgoing.end(defaultAvatar);
    return;
  }
  try {
    const prismRequest = incoming.pipe(
      request({ host: '127.0.0.1', port: prismPort, method, path: url, headers }),
    );
    // `once` handles errors only until the response arrives. An unhandled later error would end the process.
    prismRequest.on('error', () => {});
    const [prismResponse] = (await once(prismRequest, 'response')) as [IncomingMessage];
    const { statusCode: status = 500, headers: prismHeaders } = prismResponse;
    const body = await text(prismResponse);
    const response = adaptResponse(url, { status, headers: prismHeaders, body }, baseUrl);
    // These headers describe the connection to Prism.
    for (const name of ['connection', 'keep-alive', 'transfer-encoding']) {
      delete response.headers[name];
    }
    const length = Buffer.byteLength(response.body);
    outgoing.writeHead(response.status, { ...response.headers, 'content-length': length });
    outgoing.end(response.body);
  } catch {
    // Prism is starting, or has crashed on this request.
    outgoing.writeHead(503, { 'retry-after': '2', connection: 'close' }).end();
  }
}
