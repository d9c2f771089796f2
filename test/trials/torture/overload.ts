import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import autocannon from 'autocannon';
import { residentBytes, threadTimes } from '../../support/process-usage.ts';
import { retryAfter, retryWhileUnavailable } from '../../support/retry.ts';
import { type Server, startServer } from '../../support/server.ts';
import { median, quantile } from '../../support/statistics.ts';
import {
  type AccountRequests,
  type Call,
  duration,
  prepareAccount,
  send,
  type TimedOutcome,
} from './load.ts';
import type { Trial } from './trial.ts';

/** Requests wait up to 2 s for the event loop, and again for the search index or a thread. Later, they get 503. */
const MAX_QUEUED_MS = 4_000;

/** Maximum p99 of the rest of the time of accepted logins and uploads, in p99s at capacity. */
const MAX_EXPENSIVE_SLOWDOWN = 10;

/** Names of the requests that hash a password or decode an avatar. */
const EXPENSIVE = ['login', 'upload'];

const MAX_MEMORY_MIB = 768;

/** Maximum time until the service is as fast as before, in rounds of requests. */
const MAX_RECOVERY_ROUNDS = 30;

export const overload: Trial = {
  promise:
    'At five times its capacity the service sheds load with 503 and Retry-After; accepted requests finish in time, and it recovers soon.',
  runsOnPostgresql: true,
  measuresTime: true,
  async run(scale) {
    const seconds = scale === 'full' ? 60 : 8;
    await using server = await startServer();
    const requests = await prepareAccount(server.url);
    // The service does not shed load right after its start.
    await sleep(2_500);
    const normalTimes = await measureRounds(server.url, requests, scale === 'full' ? 40 : 10);
    const atCapacity = await measureCapacity(server.url, requests, 4_000);
    await sleep(1_000);

    const watch = watchServer(server);
    const stopMeasuring = measureRunnableShare(server);
    const mixed = await offer(server.url, requests, 5 * atCapacity.rate, seconds);
    const runnableShare = stopMeasuring();
    const afterMixed = await recover(server.url, requests, normalTimes);
    const reads = await floodReads(server.url, seconds / 2);
    const afterReads = await recover(server.url, requests, normalTimes);
    const { health, memory } = await watch.stop();

    assert(server.child.exitCode === null && server.child.signalCode === null, server.output());
    for (const outcome of mixed) {
      const { status, name, error } = outcome;
      assert(status === 200 || status === 503, `${name} returned ${status ?? error}`);
      if (status === 503) assert(retryAfter(outcome) !== undefined, 'no Retry-After');
    }
    const accepted = mixed.filter(({ status }) => status === 200);
    // Passwords and avatars have limits of their own, so they would be rejected without load shedding, too.
    const shed = mixed.filter(({ status, name }) => status === 503 && !EXPENSIVE.includes(name));
    assert(shed.length > mixed.length / 10, `only ${shed.length} cheap requests were shed`);

    const format = (milliseconds: number) => `${Math.round(milliseconds)} ms`;
    const [before, during] = [timesOf(atCapacity.outcomes), timesOf(accepted)];
    const cheap = `the median of accepted cheap requests rose from ${format(median(before.cheap))} to ${format(median(during.cheap))}`;
    assert(
      median(during.cheap) * runnableShare <= MAX_QUEUED_MS,
      `${cheap}, ${format(median(during.cheap) * runnableShare)} without waits for a processor`,
    );
    const [p99Before, p99] = [quantile(before.expensive, 0.99), quantile(during.expensive, 0.99)];
    const expensive = `the p99 of logins and uploads from ${format(p99Before)} to ${format(p99)}`;
    assert(p99 <= MAX_QUEUED_MS + MAX_EXPENSIVE_SLOWDOWN * p99Before, expensive);
    const failed = health.filter(({ status }) => status !== 200);
    assert.equal(failed.length, 0, `/healthz failed ${failed.length} times: ${failed[0]?.error}`);
    // Health checks do not wait with others for the database.
    const healthMedian = median(health.map(duration));
    const healthTimes = `the median of /healthz was ${format(healthMedian)}`;
    assert(healthMedian <= median(during.cheap), `${cheap}, but ${healthTimes}`);
    assert(Math.max(...memory) < MAX_MEMORY_MIB, `the process used ${Math.max(...memory)} MiB`);
    for (const after of [afterMixed, afterReads]) {
      const limit = MAX_RECOVERY_ROUNDS * quantile(normalTimes, 0.9);
      assert(after <= limit, `the service recovered after ${format(after)}, not ${format(limit)}`);
    }
    return `of ${Math.round(mixed.length / seconds)}/s offered for ${seconds} s, five times the capacity of ${Math.round(atCapacity.rate)}/s, ${Math.round(accepted.length / seconds)}/s were accepted and the others got 503; ${cheap}, ${expensive}; of ${reads.responses} searches on 1,000 connections ${reads.shed} were shed, p99 ${format(reads.p99)}; ${healthTimes}, ${health.length} requests, none failed; ${Math.max(...memory)} MiB at most; recovered after ${format(afterMixed)} and ${format(afterReads)}`;
  },
};

/** Returns a random request: 55 % searches, 25 % profiles, and writes, logins and uploads. */
function drawCall({ search, profile, bio, login, upload }: AccountRequests): Call {
  const share = Math.random();
  if (share < 0.55) return search();
  if (share < 0.8) return profile();
  if (share < 0.85) return bio();
  return share < 0.95 ? login() : upload();
}

/** Returns the durations of requests in milliseconds. */
function timesOf(outcomes: readonly TimedOutcome[]) {
  const isExpensive = ({ name }: TimedOutcome) => EXPENSIVE.includes(name);
  return {
    cheap: outcomes.filter((each) => !isExpensive(each)).map(duration),
    expensive: outcomes.filter(isExpensive).map(duration),
  };
}

/** Sends requests as a few clients without pauses. Returns the requests completed, and their number per second. */
async function measureCapacity(url: string, requests: AccountRequests, milliseconds: number) {
  const agent = new Agent({ keepAlive: true });
  const start = performance.now();
  const outcomes: TimedOutcome[] = [];
  const client = async () => {
    while (performance.now() - start < milliseconds) {
      const call = drawCall(requests);
      const outcome = await retryWhileUnavailable(() => send(url, call, agent));
      const { status, error, name } = outcome;
      assert.equal(status, 200, `${name} failed with ${status ?? error} at a low load`);
      outcomes.push(outcome);
    }
  };
  await Promise.all(Array.from({ length: 12 }, client));
  agent.destroy();
  return { outcomes, rate: (outcomes.length / (performance.now() - start)) * 1000 };
}

/** Sends requests at a constant rate, regardless of responses, on connections that are already open. */
async function offer(
  url: string,
  requests: AccountRequests,
  rate: number,
  seconds: number,
): Promise<TimedOutcome[]> {
  const agent = await openConnections(url);
  const outcomes: Promise<TimedOutcome>[] = [];
  const start = performance.now();
  for (;;) {
    const elapsed = (performance.now() - start) / 1000;
    if (elapsed >= seconds) break;
    while (outcomes.length < elapsed * rate) outcomes.push(send(url, drawCall(requests), agent));
    await sleep(5);
  }
  const all = await Promise.all(outcomes);
  agent.destroy();
  return all;
}

/** Opens connections in advance, like a proxy. New connections would queue in the operating system. */
async function openConnections(url: string): Promise<Agent> {
  const agent = new Agent({ keepAlive: true, maxSockets: 4_000, maxFreeSockets: 4_000 });
  const call = { name: 'warm-up', method: 'GET', path: '/healthz', headers: {} };
  await Promise.all(Array.from({ length: 4_000 }, () => send(url, call, agent)));
  return agent;
}

/**
 * Measures the share of the time in which neither the main thread of the server nor this process waits for a processor.
 * Programs that run beside the trial cause such waits, which make every request take longer.
 */
function measureRunnableShare({ child }: Server): () => number {
  const pids = [child.pid as number, process.pid];
  const measure = () => pids.map((pid) => threadTimes(pid).get(pid)?.waited ?? 0);
  const [before, start] = [measure(), performance.now()];
  return () => {
    const waited = measure().map((total, i) => total - (before[i] as number));
    return 1 - Math.max(...waited) / (performance.now() - start);
  };
}

/** Searches on more connections than one event loop can serve in time. */
async function floodReads(url: string, seconds: number) {
  const { errors, timeouts, non2xx, latency, ...counts } = await autocannon({
    url: `${url}/api/spaces/search?q=bread`,
    connections: 1_000,
    duration: seconds,
    timeout: 20,
    workers: 1,
  });
  assert.equal(errors + timeouts, 0, `${errors} connections failed, ${timeouts} requests hung`);
  assert.equal(non2xx, counts['5xx']);
  return { responses: counts['2xx'] + non2xx, shed: non2xx, p99: latency.p99 };
}

/** Runs rounds of one request of each kind. Returns the durations of the rounds. */
async function measureRounds(
  url: string,
  requests: AccountRequests,
  count: number,
): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < count; i += 1) times.push(await runRound(url, requests));
  return times;
}

/** Sends one request of each kind. Returns the duration in milliseconds, or infinity if a request fails. */
async function runRound(url: string, { search, profile, bio, login, upload }: AccountRequests) {
  const agent = new Agent({ keepAlive: true });
  const start = performance.now();
  let hasSucceeded = true;
  for (const next of [search, profile, bio, login, upload]) {
    hasSucceeded &&= (await send(url, next(), agent)).status === 200;
  }
  agent.destroy();
  return hasSucceeded ? performance.now() - start : Number.POSITIVE_INFINITY;
}

/** Returns the milliseconds until the first of three consecutive rounds in about the normal time. */
async function recover(
  url: string,
  requests: AccountRequests,
  normalTimes: number[],
): Promise<number> {
  const limit = 3 * quantile(normalTimes, 0.9);
  const start = performance.now();
  let recoveredAt = start;
  for (let normalRounds = 0; normalRounds < 3; ) {
    if (normalRounds === 0) recoveredAt = performance.now();
    assert(recoveredAt - start < 60_000, 'the service did not recover within a minute');
    normalRounds = (await runRound(url, requests)) <= limit ? normalRounds + 1 : 0;
  }
  return recoveredAt - start;
}

/** Requests `/healthz` and measures the memory of the process in MiB, ten times per second. */
function watchServer({ url, child }: Server) {
  const agent = new Agent({ keepAlive: true });
  const health: TimedOutcome[] = [];
  const memory: number[] = [];
  let isStopping = false;
  const call = { name: 'health', method: 'GET', path: '/healthz', headers: {} };
  const watching = (async () => {
    while (!isStopping) {
      health.push(await send(url, call, agent));
      memory.push(Math.round(residentBytes(child.pid as number) / 1024 ** 2));
      await sleep(100);
    }
    agent.destroy();
  })();
  // `stop` reports the error; until then it must not count as unhandled.
  watching.catch(() => {});
  return {
    async stop() {
      isStopping = true;
      await watching;
      return { health, memory };
    },
  };
}
