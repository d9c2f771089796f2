import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { head, openRaw } from '../support/raw.ts';
import { type Server, startServer } from '../support/server.ts';
import { keepSending, type Outcome, quantile, send, settle } from './load.ts';
import type { Trial } from './trial.ts';

/** The longest that a stop may take, in milliseconds. */
const LONGEST = 10_000;

/** How long the service still takes new connections, in milliseconds. */
const DRAIN = 1_000;

export const shutdown: Trial = {
  promise:
    'On SIGTERM the service says so at /readyz, answers all it has begun, and ends with code 0 within 10 seconds.',
  async run(scale) {
    const stops = scale === 'full' ? 100 : 4;
    const sum = { answered: 0, refused: 0, atTheDoor: 0, notReady: 0 };
    const taken: number[] = [];
    const takenByHalves: number[] = [];
    for (let i = 0; i < stops; i += 1) {
      const hasHalf = i % 5 < 2 && i % 10 < 5;
      const stop = await stopUnderLoad(String(1 + (i % 2)), hasHalf);
      (hasHalf ? takenByHalves : taken).push(stop.milliseconds);
      sum.answered += stop.answered;
      sum.refused += stop.refused;
      sum.atTheDoor += stop.atTheDoor;
      sum.notReady += stop.notReady;
    }
    const longest = (times: number[]) => (quantile(times, 1) / 1000).toFixed(1);
    return `${stops} stops, half of them of two workers, all with code 0, in ${longest(taken)} s at most (${longest(takenByHalves)} s where a request was never finished); ${sum.answered} requests answered, of which none was lost once begun; ${sum.atTheDoor} connections met the closing door, ${sum.refused} were refused; /readyz said 503 ${sum.notReady} times before`;
  },
};

interface Stop {
  milliseconds: number;
  answered: number;
  /** Connections that nobody took. */
  refused: number;
  /** Connections that the system had taken for the service, but the service had not. */
  atTheDoor: number;
  /** How often `/readyz` said 503. */
  notReady: number;
}

async function stopUnderLoad(workers: string, hasHalf: boolean): Promise<Stop> {
  await using server = await startServer({ WORKERS: workers, LOG_LEVEL: 'info' });
  const { search, profile, bio, login, upload } = await settle(server.url, 5);
  const goesOn = ({ error }: Outcome) => error !== 'ECONNREFUSED';
  const clients = [search, search, search, profile, profile, bio, login, upload].map((next) =>
    keepSending(server.url, next, { goesOn }),
  );
  using half = hasHalf ? await openRaw(server.url) : undefined;
  await half?.write(head('GET', '/healthz').slice(0, -2));
  await sleep(200 + Math.random() * 600);

  const asked = askReadiness(server);
  const told = performance.now();
  const code = await server.stop();
  const milliseconds = performance.now() - told;
  const outcomes = (await Promise.all(clients.map((client) => client.stop()))).flat();
  const readiness = await asked;

  assert.equal(code, 0, server.output());
  assert(milliseconds <= LONGEST, `it took ${milliseconds} ms`);
  if (hasHalf) assert(milliseconds > 5_000, 'the request that was never finished did not count');
  const notReady = readiness.filter(({ status }) => status === 503).length;
  assert(notReady > 0, '/readyz never said that the service stops');
  const begun = [...server.output().matchAll(/"url":"([^"]+)"/g)].map(([, path]) => path);
  for (const [path, those] of Map.groupBy(outcomes, (each) => each.path)) {
    const answered = those.filter(({ status }) => status !== undefined).length;
    const logged = begun.filter((each) => each === path).length;
    assert.equal(answered, logged, `of ${logged} requests for ${path}, ${answered} were answered`);
  }
  const unanswered = outcomes.filter(({ status }) => status === undefined);
  for (const { error, isReused, path, ended } of unanswered) {
    const when = `${Math.round(ended - told)} ms after the signal: ${error}`;
    assert(ended - told > DRAIN, `${path} got no answer, ${when}`);
    assert(!isReused, `${path} got no answer on a connection that was open, ${when}`);
  }
  const statuses = outcomes.flatMap(({ status }) => status ?? []);
  assert.deepEqual([...new Set(statuses)], [200]);
  const refused = unanswered.filter(({ error }) => error === 'ECONNREFUSED').length;
  return {
    ...{ milliseconds, notReady, refused },
    answered: statuses.length,
    atTheDoor: unanswered.length - refused,
  };
}

/** Asks whether the service is ready, on ever new connections, until there is no answer. */
async function askReadiness({ url }: Server): Promise<Outcome[]> {
  const call = { name: 'readyz', method: 'GET', path: '/readyz', headers: {} };
  const outcomes: Outcome[] = [];
  for (;;) {
    const outcome = await send(url, call, new Agent({ keepAlive: false }));
    outcomes.push(outcome);
    if (outcome.status === undefined) return outcomes;
    await sleep(50);
  }
}
