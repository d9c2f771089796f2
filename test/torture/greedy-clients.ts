import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import sharp from 'sharp';
import * as api from '../../generated/sdk.gen.ts';
import { register } from '../support/client.ts';
import { type ThreadTimes, threadTimes } from '../support/process-usage.ts';
import { retryWhileUnavailable } from '../support/retry.ts';
import { type Server, startServer } from '../support/server.ts';
import { createSpace } from '../support/spaces.ts';
import { median, quantile } from '../support/statistics.ts';
import type { AttackOrder } from './attack.ts';
import { type Call, duration, prepareAccount, send } from './load.ts';
import type { Trial } from './trial.ts';

/** Time between two requests of the other user, who looks at the response before the next request. */
const PAUSE_MS = 50;

/** Beside a greedy client, the median of the other user is at most twice as long, plus the noise of a busy machine. */
const MAX_FACTOR = 2;
const NOISE_MS = 15;

/** The median of uploads beside four accounts that upload images of 64 megapixels, which share the time evenly. */
const MAX_UPLOAD_FACTOR = 5;

/** One of these rounds must be within the limit, because other programs can delay a user in other ways, too. */
const ROUNDS = 3;

/** The address of the greedy client. The other user has another one. */
const GREEDY_ADDRESS = '127.0.0.9';

interface Attack {
  name: string;
  connections: number;
  /** The connections send these requests in turn. */
  calls: readonly Call[];
  /** Whether the other user uploads avatars instead of searching. */
  delaysUploads?: boolean;
  /** Whether the requests write to the database. */
  writes?: boolean;
}

export const greedyClients: Trial = {
  promise: 'One account or address that sends as much as it can does not delay others noticeably.',
  runsOnPostgresql: true,
  measuresTime: true,
  async run(scale) {
    const milliseconds = scale === 'full' ? 15_000 : 1_000;
    // With the default limits.
    const settings = { RATE_LIMITS: 'on' };
    await using server = await startServer(settings);
    const attacks = (await prepareAttacks(server)).filter(
      // Commits wait for the disk, whose pauses of half a second decide the median of a short round.
      ({ writes }) => !writes || scale === 'full',
    );
    const { search, upload } = await prepareAccount(server.url, 5);
    await useService(server, search, milliseconds, PAUSE_MS);
    const results: string[] = [];
    for (const attack of attacks) {
      const next = attack.delaysUploads ? upload : search;
      const maxFactor = attack.delaysUploads ? MAX_UPLOAD_FACTOR : MAX_FACTOR;
      // All rounds together stay within the limit of 60 uploads.
      const pauseMs = attack.delaysUploads ? milliseconds / 9 : PAUSE_MS;
      const rounds: string[] = [];
      let isHarmless = false;
      while (!isHarmless && rounds.length < ROUNDS) {
        const calm = await useService(server, next, milliseconds, pauseMs);
        const stop = await startAttack(server, attack);
        const busy = await useService(server, next, milliseconds, pauseMs);
        const sent = await stop();
        isHarmless = busy.median <= maxFactor * calm.median + NOISE_MS;
        rounds.push(`${describe(calm)} -> ${describe(busy)} ms (${sent} requests)`);
      }
      const result = `${attack.name} ${rounds.join(', then ')}`;
      assert(isHarmless, result);
      results.push(result);
    }
    return `median (p99) of another user: ${results.join('; ')}`;
  },
};

interface Times {
  median: number;
  p99: number;
}

function describe({ median, p99 }: Times): string {
  return `${median.toFixed(1)} (${p99.toFixed(0)})`;
}

/**
 * Creates an account with 100 spaces and 900 messages in one of them, and returns attacks by it, by strangers and by
 * four other accounts.
 */
async function prepareAttacks({ url }: Server): Promise<Attack[]> {
  const { client, token } = await register(url, 'greedy');
  const { space_id } = await createSpace({ client }, { title: 'Bread', tags: ['baking'] });
  for (let i = 1; i < 100; i += 1) {
    await createSpace({ client }, { title: `Bread ${i}`, description: 'Lorem ipsum '.repeat(40) });
  }
  const message = { space_id, text: 'Lorem ipsum '.repeat(80) };
  let message_id = '';
  for (let i = 0; i < 900; i += 1) {
    const { data } = await api.sendMessage({ client, body: message, throwOnError: true });
    message_id = data.message_id;
  }
  const position = `/api/participations/${space_id}/read`;
  const headers = { authorization: `Bearer ${token}` };
  const read = (path: string): Call => ({ name: path, method: 'GET', path, headers });
  const write = (method: string, path: string, body: object): Call => {
    const encoded = Buffer.from(JSON.stringify(body));
    const ofBody = { 'content-type': 'application/json', 'content-length': `${encoded.length}` };
    return { name: path, method, path, headers: { ...headers, ...ofBody }, body: encoded };
  };
  const nested = Buffer.from('['.repeat(16_000) + ']'.repeat(16_000));
  const login = {
    name: 'login',
    method: 'POST',
    path: '/api/auth/login',
    headers: { 'content-type': 'application/json', 'content-length': String(nested.length) },
    body: nested,
  };
  const image = await largeImage();
  const images = await Promise.all([1, 2, 3, 4].map((i) => uploadBy(url, `painter${i}`, image)));
  return [
    { name: 'data downloads', connections: 50, calls: [read('/api/profile/data')] },
    { name: 'own statistics', connections: 20, calls: [read('/api/profile/me')] },
    {
      name: 'participations',
      connections: 20,
      calls: [read('/api/participations?sort=recent&limit=100')],
    },
    {
      name: 'messages',
      connections: 20,
      calls: [write('POST', '/api/messages', message)],
      writes: true,
    },
    {
      name: 'read positions',
      connections: 20,
      calls: [write('PUT', position, { message_id })],
      writes: true,
    },
    { name: 'nested JSON', connections: 16, calls: [login] },
    { name: 'unknown paths', connections: 32, calls: [read(`/${'x'.repeat(15_000)}`)] },
    { name: 'files', connections: 32, calls: [read('/docs/js/scalar.js')] },
    { name: 'large images', connections: 8, calls: images, delaysUploads: true },
  ];
}

/** Returns a progressive JPEG with the maximum number of pixels. */
function largeImage(): Promise<Buffer> {
  const size = { width: 8_000, height: 8_000, channels: 3, background: 'teal' } as const;
  return sharp({ create: size }).jpeg({ progressive: true }).toBuffer();
}

/** Returns the upload of an image by a new account. */
async function uploadBy(url: string, username: string, image: Buffer): Promise<Call> {
  const { token } = await register(url, username);
  const form = new FormData();
  form.set('avatar', new Blob([new Uint8Array(image)]), 'avatar.jpg');
  const encoded = new Response(form);
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': encoded.headers.get('content-type') as string,
  };
  const body = Buffer.from(await encoded.arrayBuffer());
  return { name: 'upload', method: 'PUT', path: '/api/profile/picture', headers, body };
}

/** Returns how long requests of another user take. None may fail. */
async function useService(
  server: Server,
  next: () => Call,
  milliseconds: number,
  pauseMs: number,
): Promise<Times> {
  const agent = new Agent({ keepAlive: true });
  const durations: number[] = [];
  const end = performance.now() + milliseconds;
  while (performance.now() < end) {
    const call = next();
    const outcome = await retryWhileUnavailable(() => sendTimed(server, call, agent));
    assert.equal(outcome.status, 200, `a ${call.name} of another user failed: ${outcome.error}`);
    durations.push(outcome.elapsed);
    await sleep(pauseMs);
  }
  agent.destroy();
  return { median: median(durations), p99: quantile(durations, 0.99) };
}

/**
 * Sends a request. Returns its outcome, and its duration without the time in which the server or this process waited for
 * a processor. Other programs cause such waits, the more the busier the server is. The duration is at least the time that
 * the server's main thread ran.
 */
async function sendTimed({ url, child }: Server, call: Call, agent: Agent) {
  const pid = child.pid as number;
  const before = [pid, process.pid].map(threadTimes);
  const outcome = await send(url, call, agent);
  const [server, client] = [pid, process.pid].map((pid, i) => {
    const changes = Array.from(threadTimes(pid), ([thread, { ran, waited }]) => {
      const start = before[i]?.get(thread) ?? { ran: 0, waited: 0 };
      return { thread, ran: ran - start.ran, waited: waited - start.waited };
    });
    // The waits of several threads overlap.
    const waited = Math.max(...changes.map((each) => each.waited));
    return { waited, ran: changes.find(({ thread }) => thread === pid)?.ran ?? 0 };
  }) as [ThreadTimes, ThreadTimes];
  const elapsed = Math.max(server.ran, duration(outcome) - server.waited - client.waited);
  return { ...outcome, elapsed };
}

/**
 * Starts an attack in a process of its own, because its responses would delay those of the other user, who is measured
 * in this one. Returns a function that stops it and returns the number of requests.
 */
async function startAttack(
  { url }: Server,
  { connections, calls }: Attack,
): Promise<() => Promise<number>> {
  const attacker = fork(new URL('./attack.ts', import.meta.url), { serialization: 'advanced' });
  const order: AttackOrder = { url, localAddress: GREEDY_ADDRESS, connections, calls };
  attacker.send(order);
  await nextMessage(attacker);
  return async () => {
    attacker.send('stop');
    return nextMessage(attacker);
  };
}

async function nextMessage(attacker: ChildProcess): Promise<number> {
  const [message] = await Promise.race([
    once(attacker, 'message'),
    once(attacker, 'exit').then(([code]) => {
      throw new Error(`The attacker has exited with code ${code}.`);
    }),
  ]);
  return message;
}
