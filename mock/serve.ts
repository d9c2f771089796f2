import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { resolvePort } from '../server/process/port.ts';
import { answerTo } from './answers.ts';

// Serves the contract's examples: no data, no database, every documented answer. Prism gives them; what it cannot know
// of a request is put right on the way.
const { host, port } = readArguments();
const picture = readFileSync(new URL('../server/avatars/default.webp', import.meta.url));
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

let isGreeted = false;
while (!isStopping) {
  const startedAt = Date.now();
  prism = spawn('prism', ['mock', 'openapi.yaml', '--port', String(prismPort), '--cors'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(prism, 'exit');
  if (!isGreeted) void greetOnceReady();
  const [code] = await ended;
  if (isStopping) break;
  // A malformed multipart body makes Prism crash: it is up again at once. But one that does not even start stays down.
  if (Date.now() - startedAt < 5_000) process.exit(code ?? 1);
  console.error('The mock crashed on a request and starts again.');
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
    // An option that is not known: the usage tells which are.
  }
  console.error('Usage: npm run mock -- [--host ADDRESS] [--port NUMBER]');
  process.exit(1);
}

async function greetOnceReady(): Promise<void> {
  while (!isStopping && !(await isListening())) await sleep(100);
  if (isStopping || isGreeted) return;
  isGreeted = true;
  console.log(`The mock answers at ${baseUrl} with the examples of openapi.yaml. Stop it with Ctrl+C.

  curl -w '\\n' '${baseUrl}/api/spaces/search?q=bread'
  curl -w '\\n' -H 'Authorization: Bearer any' ${baseUrl}/api/profile/me
  curl -w '\\n' -H 'Authorization: Bearer any' -H 'Prefer: code=503' ${baseUrl}/api/profile/me      # any documented status
  curl -w '\\n' -H 'Prefer: code=409, example=email' -H 'Content-Type: application/json' \\
    -d '{"username":"ada","email":"ada@example.com","password":"correct horse battery"}' ${baseUrl}/api/auth/register
`);
}

function isListening(): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(prismPort, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

/** Has Prism answer, and puts its answer right. Everybody's picture is the default one. */
async function forward(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const { method, url = '/', headers } = incoming;
  if (url.startsWith('/avatars/')) {
    outgoing.writeHead(200, { 'content-type': 'image/webp', 'access-control-allow-origin': '*' });
    outgoing.end(picture);
    return;
  }
  try {
    const asked = incoming.pipe(
      request({ host: '127.0.0.1', port: prismPort, method, path: url, headers }),
    );
    // Also those that come after the answer, when nobody waits any more.
    asked.on('error', () => {});
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    const answer = answerTo(
      url,
      { status: response.statusCode ?? 500, headers: response.headers, body: await text(response) },
      baseUrl,
    );
    // What only concerned the connection to Prism.
    for (const name of ['connection', 'keep-alive', 'transfer-encoding'])
      delete answer.headers[name];
    const length = Buffer.byteLength(answer.body);
    outgoing.writeHead(answer.status, { ...answer.headers, 'content-length': length });
    outgoing.end(answer.body);
  } catch {
    // Prism starts, or has crashed on this request.
    outgoing.writeHead(503, { 'retry-after': '2', connection: 'close' }).end();
  }
}
