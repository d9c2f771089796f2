import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import * as api from '../../generated/sdk.gen.ts';
import { register } from '../support/client.ts';
import { type Server, startServer } from '../support/server.ts';
import { createSpace } from '../support/spaces.ts';
import { median } from '../support/statistics.ts';
import { type Call, duration, send } from './load.ts';
import type { Trial } from './trial.ts';

/** Time between two requests of the other user, who reads results before the next search. */
const PAUSE_MS = 50;

/** Beside a greedy client, the median of the other user is at most twice as long, plus the noise of a busy machine. */
const MAX_FACTOR = 2;
const NOISE_MS = 15;

/** One of these rounds must be within the limit, because other programs can delay a user, too. */
const ROUNDS = 3;

/** The address of the greedy client. The other user has another one. */
const GREEDY_ADDRESS = '127.0.0.9';

interface Attack {
  name: string;
  connections: number;
  call: Call;
}

export const greedyClients: Trial = {
  promise: 'One account or address that sends as much as it can does not delay others noticeably.',
  runsOnPostgresql: true,
  async run(scale) {
    const milliseconds = scale === 'full' ? 15_000 : 1_000;
    // With the default limits.
    const settings = { RATE_LIMITS: 'on' };
    await using server = await startServer(settings);
    const attacks = await prepareAttacks(server);
    await searchFor(server, milliseconds);
    const results: string[] = [];
    for (const attack of attacks) {
      const rounds: string[] = [];
      let isHarmless = false;
      while (!isHarmless && rounds.length < ROUNDS) {
        const calm = await searchFor(server, milliseconds);
        const stop = startAttack(server, attack);
        const busy = await searchFor(server, milliseconds);
        const sent = await stop();
        isHarmless = busy <= MAX_FACTOR * calm + NOISE_MS;
        rounds.push(`${calm.toFixed(1)} -> ${busy.toFixed(1)} ms (${sent} requests)`);
      }
      const result = `${attack.name} ${rounds.join(', then ')}`;
      assert(isHarmless, result);
      results.push(result);
    }
    return `median of another user's searches: ${results.join('; ')}`;
  },
};

/** Creates an account with 900 messages in a space, and returns the requests that it and strangers can send. */
async function prepareAttacks({ url }: Server): Promise<Attack[]> {
  const { client, token } = await register(url, 'greedy');
  const { space_id } = await createSpace({ client }, { title: 'Bread', tags: ['baking'] });
  const text = 'Lorem ipsum '.repeat(80);
  for (let i = 0; i < 900; i += 1) {
    await api.sendMessage({ client, body: { space_id, text }, throwOnError: true });
  }
  const headers = { authorization: `Bearer ${token}` };
  const read = (path: string): Call => ({ name: path, method: 'GET', path, headers });
  const nested = Buffer.from('['.repeat(16_000) + ']'.repeat(16_000));
  const login = {
    name: 'login',
    method: 'POST',
    path: '/api/auth/login',
    headers: { 'content-type': 'application/json', 'content-length': String(nested.length) },
    body: nested,
  };
  return [
    { name: 'data downloads', connections: 50, call: read('/api/profile/data') },
    { name: 'own statistics', connections: 20, call: read('/api/profile/me') },
    { name: 'participations', connections: 20, call: read('/api/participations?limit=100') },
    { name: 'nested JSON', connections: 16, call: login },
    { name: 'unknown paths', connections: 32, call: read(`/${'x'.repeat(15_000)}`) },
    { name: 'files', connections: 32, call: read('/docs/static/swagger-ui-bundle.js') },
  ];
}

/** Returns the median of searches by another user. None may fail. */
async function searchFor({ url }: Server, milliseconds: number): Promise<number> {
  const agent = new Agent({ keepAlive: true });
  const durations: number[] = [];
  const end = performance.now() + milliseconds;
  for (let i = 0; performance.now() < end; i += 1) {
    const path = `/api/spaces/search?q=bread%20${i}`;
    const outcome = await send(url, { name: 'search', method: 'GET', path, headers: {} }, agent);
    assert.equal(outcome.status, 200, `a search of another user failed: ${outcome.error}`);
    durations.push(duration(outcome));
    await sleep(PAUSE_MS);
  }
  agent.destroy();
  return median(durations);
}

/** Repeats a request on many connections. Returns a function that stops and returns the number of requests. */
function startAttack({ url }: Server, { connections, call }: Attack): () => Promise<number> {
  const agent = new Agent({ keepAlive: true, localAddress: GREEDY_ADDRESS });
  let isStopping = false;
  let sent = 0;
  const sending = Promise.all(
    Array.from({ length: connections }, async () => {
      while (!isStopping) {
        await send(url, call, agent);
        sent += 1;
      }
    }),
  );
  return async () => {
    isStopping = true;
    await sending;
    agent.destroy();
    return sent;
  };
}
