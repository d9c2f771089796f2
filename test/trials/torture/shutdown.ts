import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { head, openRaw } from '../../support/raw.ts';
import { type Server, startServer } from '../../support/server.ts';
import { quantile } from '../../support/statistics.ts';
import { isUnavailable, keepSending, prepareAccount, send, type TimedOutcome } from './load.ts';
import type { Trial } from './trial.ts';

const MAX_STOP_MS = 10_000;

/** Time during which the stopping service accepts new connections. */
const DRAIN_MS = 1_000;

export const shutdown: Trial = {
  promise:
    'On SIGTERM, /readyz returns 503, every accepted request gets its response, and the service exits with code 0 within 10 seconds.',
  runsOnPostgresql: true,
  measuresTime: true,
  async run(scale) {
    const stops = scale === 'full' ? 100 : 2;
    const sum = { responses: 0, refused: 0, unaccepted: 0, notReady: 0 };
    const times: number[] = [];
    const timesWithUnfinished: number[] = [];
    for (let i = 0; i < stops; i += 1) {
      // At full scale, twice in ten stops: once with each number of workers.
      const hasUnfinished = scale === 'full' ? i % 10 < 2 : i === 1;
      const stop = await stopUnderLoad(String(1 + (i % 2)), hasUnfinished);
      (hasUnfinished ? timesWithUnfinished : times).push(stop.milliseconds);
      sum.responses += stop.responses;
      sum.refused += stop.refused;
      sum.unaccepted += stop.unaccepted;
      sum.notReady += stop.notReady;
    }
    const maxSeconds = (values: number[]) => (quantile(values, 1) / 1000).toFixed(1);
    return `${stops} stops, half of them with two workers, all with code 0, within ${maxSeconds(times)} s (${maxSeconds(timesWithUnfinished)} s with an unfinished request); ${sum.responses} responses, no accepted request lost; ${sum.unaccepted} connections were closed before they were accepted, ${sum.refused} were refused; /readyz returned 503 ${sum.notReady} times`;
  },
};

interface Stop {
  milliseconds: number;
  responses: number;
  /** Connections that the operating system refused. */
  refused: number;
  /** Connections that the operating system queued, but the service never accepted. */
  unaccepted: number;
  /** How often `/readyz` returned 503. */
  notReady: number;
}

async function stopUnderLoad(workers: string, hasUnfinished: boolean): Promise<Stop> {
  await using server = await startServer({ WORKERS: workers, LOG_LEVEL: 'info' });
  const { search, profile, bio, login, upload } = await prepareAccount(server.url, 5);
  const continues = ({ error }: TimedOutcome) => error !== 'ECONNREFUSED';
  const clients = [search, search, search, profile, profile, bio, login, upload].map((next) =>
    keepSending(server.url, next, { continues }),
  );
  using unfinished = hasUnfinished ? await openRaw(server.url) : undefined;
  await unfinished?.write(head('GET', '/healthz').slice(0, -2));
  await sleep(200 + Math.random() * 600);

  const polling = pollReadiness(server);
  const signalledAt = performance.now();
  const code = await server.stop();
  const milliseconds = performance.now() - signalledAt;
  const outcomes = (await Promise.all(clients.map((client) => client.stop()))).flat();
  const readiness = await polling;

  assert.equal(code, 0, server.output());
  assert(milliseconds <= MAX_STOP_MS, `the stop took ${milliseconds} ms`);
  if (hasUnfinished) {
    assert(milliseconds > 5_000, 'the service did not wait for the unfinished request');
  }
  const notReady = readiness.filter(({ status }) => status === 503).length;
  assert(notReady > 0, '/readyz never returned 503');
  const loggedPaths = [...server.output().matchAll(/"url":"([^"]+)"/g)].map(([, path]) => path);
  for (const [path, samePath] of Map.groupBy(outcomes, (each) => each.path)) {
    const responses = samePath.filter(({ status }) => status !== undefined).length;
    const logged = loggedPaths.filter((each) => each === path).length;
    assert.equal(responses, logged, `${responses} responses to ${logged} requests for ${path}`);
  }
  const withoutResponse = outcomes.filter(({ status }) => status === undefined);
  for (const { error, isReused, path, endedAt } of withoutResponse) {
    const when = `${Math.round(endedAt - signalledAt)} ms after the signal: ${error}`;
    assert(endedAt - signalledAt > DRAIN_MS, `${path} got no response, ${when}`);
    assert(!isReused, `${path} got no response on an open connection, ${when}`);
  }
  const responses = outcomes.filter(({ status }) => status !== undefined);
  // Other programs on the machine may make the service shed load.
  const lasting = responses.filter((outcome) => !isUnavailable(outcome));
  assert.deepEqual([...new Set(lasting.map(({ status }) => status))], [200]);
  const refused = withoutResponse.filter(({ error }) => error === 'ECONNREFUSED').length;
  return {
    milliseconds,
    notReady,
    refused,
    responses: responses.length,
    unaccepted: withoutResponse.length - refused,
  };
}

/** Requests `/readyz` on new connections until there is no response. */
async function pollReadiness({ url }: Server): Promise<TimedOutcome[]> {
  const call = { name: 'readyz', method: 'GET', path: '/readyz', headers: {} };
  const outcomes: TimedOutcome[] = [];
  for (;;) {
    const outcome = await send(url, call, new Agent({ keepAlive: false }));
    outcomes.push(outcome);
    if (outcome.status === undefined) return outcomes;
    await sleep(50);
  }
}
