import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import autocannon from 'autocannon';
import { type Server, startServer } from '../support/server.ts';
import { type Call, duration, type Outcome, type Person, quantile, send, settle } from './load.ts';
import type { Trial } from './trial.ts';

/** How long an answer that is no refusal may take, in milliseconds: reads, and what hashes or decodes. */
const LONGEST = { cheap: 2_500, costly: 8_000 };

/** What the process may hold in memory, in MiB. */
const MOST_MEMORY = 768;

/** How soon all must be as before, in milliseconds. */
const RECOVERY = 5_000;

export const overload: Trial = {
  promise:
    'Five times the load that it can take is shed with 503 and Retry-After; what is accepted is answered in time, and soon all is as before.',
  async run(scale) {
    const seconds = scale === 'full' ? 60 : 8;
    await using server = await startServer();
    const person = await settle(server.url);
    // A service that has just started does not shed.
    await sleep(2_500);
    const normal = await rounds(server.url, person, scale === 'full' ? 40 : 10);
    const capacity = await findCapacity(server.url, person, 4_000);
    await sleep(1_000);

    const watch = watchServer(server);
    const mixed = await offer(server.url, person, 5 * capacity, seconds);
    const afterMixed = await recover(server.url, person, normal);
    const reads = await floodReads(server.url, seconds / 2);
    const afterReads = await recover(server.url, person, normal);
    const { health, memory } = await watch.stop();

    assert(server.child.exitCode === null && server.child.signalCode === null, server.output());
    for (const { status, retryAfter, name, error } of mixed) {
      assert(status === 200 || status === 503, `${name} was answered ${status ?? error}`);
      if (status === 503) assert.match(retryAfter ?? '', /^\d+$/, 'no Retry-After');
    }
    const accepted = mixed.filter(({ status }) => status === 200);
    assert(accepted.length < mixed.length, 'nothing was shed');
    const slow = (isCostly: boolean) =>
      quantile(
        accepted.filter(({ name }) => COSTLY.includes(name) === isCostly).map(duration),
        0.99,
      );
    const [cheap, costly] = [slow(false), slow(true)];
    assert(cheap < LONGEST.cheap, `reads that were accepted took ${cheap} ms`);
    assert(costly < LONGEST.costly, `logins and uploads that were accepted took ${costly} ms`);
    const dead = health.filter(({ status }) => status !== 200);
    assert.equal(dead.length, 0, `/healthz failed ${dead.length} times: ${dead[0]?.error}`);
    assert(Math.max(...memory) < MOST_MEMORY, `it took ${Math.max(...memory)} MiB`);
    for (const after of [afterMixed, afterReads]) {
      assert(after <= RECOVERY, `all was as before only after ${after} ms`);
    }
    const ms = (milliseconds: number) => `${Math.round(milliseconds)} ms`;
    return `of ${Math.round(mixed.length / seconds)}/s offered for ${seconds} s, five times the ${Math.round(capacity)}/s it can take, ${Math.round(accepted.length / seconds)}/s were accepted and the others got 503; p99 of accepted reads ${ms(cheap)}, of logins and uploads ${ms(costly)}; of ${reads.answered} searches of 1,000 connections at once ${reads.shed} were shed, p99 ${ms(reads.p99)}; /healthz p99 ${ms(quantile(health.map(duration), 0.99))}, ${health.length} times, none failed; ${Math.max(...memory)} MiB at most; as before after ${ms(afterMixed)} and ${ms(afterReads)}`;
  },
};

const COSTLY = ['login', 'upload'];

/** Half searches, a quarter profiles, and what costs more. */
function drawCall({ search, profile, bio, login, upload }: Person): Call {
  const lot = Math.random();
  if (lot < 0.55) return search();
  if (lot < 0.8) return profile();
  if (lot < 0.85) return bio();
  return lot < 0.95 ? login() : upload();
}

/** How many requests a second are answered if a few clients send without pause. */
async function findCapacity(url: string, person: Person, milliseconds: number): Promise<number> {
  const agent = new Agent({ keepAlive: true });
  const begun = performance.now();
  let answered = 0;
  const client = async () => {
    while (performance.now() - begun < milliseconds) {
      const { status, error, name } = await send(url, drawCall(person), agent);
      assert.equal(
        status,
        200,
        `${name} failed with ${status ?? error} before there was much load`,
      );
      answered += 1;
    }
  };
  await Promise.all(Array.from({ length: 12 }, client));
  agent.destroy();
  return (answered / (performance.now() - begun)) * 1000;
}

/** Sends so many requests a second, whether the others have been answered or not, on connections that are open. */
async function offer(
  url: string,
  person: Person,
  rate: number,
  seconds: number,
): Promise<Outcome[]> {
  const agent = await openConnections(url);
  const outcomes: Promise<Outcome>[] = [];
  const begun = performance.now();
  for (;;) {
    const elapsed = (performance.now() - begun) / 1000;
    if (elapsed >= seconds) break;
    while (outcomes.length < elapsed * rate) outcomes.push(send(url, drawCall(person), agent));
    await sleep(5);
  }
  const all = await Promise.all(outcomes);
  agent.destroy();
  return all;
}

/** Connections that are open, as proxies keep them: with new ones, the system would do the queueing. */
async function openConnections(url: string): Promise<Agent> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1_000, maxFreeSockets: 1_000 });
  const call = { name: 'warm-up', method: 'GET', path: '/healthz', headers: {} };
  await Promise.all(Array.from({ length: 1_000 }, () => send(url, call, agent)));
  return agent;
}

/** Searches on more connections than an event loop gets round in time. */
async function floodReads(url: string, seconds: number) {
  const { errors, timeouts, non2xx, latency, ...counts } = await autocannon({
    ...{ url: `${url}/api/spaces/search?q=bread`, connections: 1_000, duration: seconds },
    ...{ timeout: 20, workers: 1 },
  });
  assert.equal(errors + timeouts, 0, `${errors} connections failed, ${timeouts} requests hung`);
  assert.equal(non2xx, counts['5xx']);
  return { answered: counts['2xx'] + non2xx, shed: non2xx, p99: latency.p99 };
}

/** One request of each kind, one after another, again and again: how long each such round takes. */
async function rounds(url: string, person: Person, count: number): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < count; i += 1) times.push(await round(url, person));
  return times;
}

async function round(url: string, { search, profile, bio, login, upload }: Person) {
  const agent = new Agent({ keepAlive: true });
  const begun = performance.now();
  let isFine = true;
  for (const next of [search, profile, bio, login, upload]) {
    isFine &&= (await send(url, next(), agent)).status === 200;
  }
  agent.destroy();
  return isFine ? performance.now() - begun : Number.POSITIVE_INFINITY;
}

/** How long it takes, in milliseconds, until three rounds on end succeed about as quickly as they normally do. */
async function recover(url: string, person: Person, normal: number[]): Promise<number> {
  const limit = 3 * quantile(normal, 0.9);
  const ended = performance.now();
  let since = ended;
  for (let fine = 0; fine < 3; ) {
    if (fine === 0) since = performance.now();
    assert(since - ended < 60_000, 'it did not recover within a minute');
    fine = (await round(url, person)) <= limit ? fine + 1 : 0;
  }
  return since - ended;
}

/** Watches, ten times a second, whether the process says that it lives, and how much memory it has, in MiB. */
function watchServer({ url, child }: Server) {
  const agent = new Agent({ keepAlive: true });
  const health: Outcome[] = [];
  const memory: number[] = [];
  let isStopping = false;
  const call = { name: 'health', method: 'GET', path: '/healthz', headers: {} };
  const watching = (async () => {
    while (!isStopping) {
      health.push(await send(url, call, agent));
      memory.push(await residentMemory(child.pid as number));
      await sleep(100);
    }
    agent.destroy();
  })();
  // What it fails with counts when it is stopped.
  watching.catch(() => {});
  return {
    async stop() {
      isStopping = true;
      await watching;
      return { health, memory };
    },
  };
}

async function residentMemory(pid: number): Promise<number> {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'rss=', '-p', String(pid)]);
  return Math.round(Number(stdout) / 1024);
}
