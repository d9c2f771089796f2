import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type Server, startServer } from '../../support/server.ts';
import { quantile } from '../../support/statistics.ts';
import { waitUntil } from '../../support/wait-until.ts';
import {
  duration,
  isUnavailable,
  keepSending,
  prepareAccount,
  send,
  type TimedOutcome,
} from './load.ts';
import { MissingRequirement, type Trial } from './trial.ts';

const run = promisify(execFile);

export const workers: Trial = {
  promise:
    'A killed worker is replaced, and only the requests that it was serving are lost; workers exit without their supervisor.',
  runsOnPostgresql: true,
  async run(scale) {
    const kills = scale === 'full' ? 30 : 2;
    await run('pgrep', ['-V']).catch(() => {
      throw new MissingRequirement('needs pgrep');
    });
    const settings = { WORKERS: '2' };
    await using server = await startServer({ ...settings, LOG_LEVEL: 'info' });
    const requests = await prepareAccount(server.url);
    const countListening = () => server.output().split('Server listening').length - 1;
    await waitUntil('two workers listen', () => countListening() === 2);
    const clients = [
      ...Array.from({ length: 6 }, (_, i) =>
        keepSending(server.url, i % 2 === 0 ? requests.search : requests.profile),
      ),
      keepConnecting(server),
    ];
    let times: Kill[];
    let outcomes: TimedOutcome[];
    try {
      times = await killWorkers(server, kills);
      await sleep(500);
    } finally {
      // Even after a failure. Otherwise, they would continue during the next trials.
      const attempts = (await Promise.all(clients.map((client) => client.stop()))).flat();
      // Other programs on the machine may make the service shed load.
      outcomes = attempts.filter((outcome) => !isUnavailable(outcome));
    }

    const failed = outcomes.filter(({ status }) => status !== 200);
    for (const { startedAt, endedAt, status, error, name, isReused } of failed) {
      const kill = times.findLast((each) => each.killedAt < endedAt);
      const since = (time: number) => Math.round(time - (kill?.killedAt ?? 0));
      const context = `${name} failed with ${status ?? error}, ${since(startedAt)} to ${since(endedAt)} ms after a kill, reused: ${isReused}`;
      assert(status === undefined && error === 'ECONNRESET', context);
      // Only requests that the killed worker had accepted or was about to accept may fail.
      assert(kill && startedAt < kill.exitedAt, context);
    }
    assert.equal(await server.stop(), 0);
    const slowest = quantile(
      times.map(({ replacedAfter }) => replacedAfter),
      1,
    );
    const p99 = quantile(outcomes.map(duration), 0.99);
    const idleExit = await killSupervisor(settings, false);
    const busyExit = await killSupervisor(settings, true);
    return `${kills} workers killed and replaced within ${(slowest / 1000).toFixed(1)} s, each with a line in the log; of ${outcomes.length} requests, ${failed.length} were lost with a killed worker and no others failed, p99 ${p99.toFixed(1)} ms; without their supervisor, workers exited after ${Math.round(idleExit)} ms, and after ${Math.round(busyExit)} ms under load`;
  },
};

interface Kill {
  killedAt: number;
  /** When the log mentioned the exit. */
  exitedAt: number;
  /** Milliseconds until a new worker has served a request. */
  replacedAfter: number;
}

/** Kills one worker after another. Waits each time until it has been replaced. */
async function killWorkers(server: Server, kills: number): Promise<Kill[]> {
  const times: Kill[] = [];
  for (let i = 0; i < kills; i += 1) {
    await sleep(300 + Math.random() * 700);
    const before = await workersOf(server);
    assert.equal(before.length, 2);
    const isNew = (pid: number) => !before.includes(pid);
    const killed = before[i % 2] as number;
    const { length } = server.output();
    const logged = (line: string) => server.output().slice(length).includes(line);
    const killedAt = performance.now();
    process.kill(killed, 'SIGKILL');
    await waitUntil('the log mentions the exited worker', () =>
      logged('worker exited, starting another one'),
    );
    const exitedAt = performance.now();
    await waitUntil('a new worker has served a request', async () =>
      (await workersOf(server)).some((each) => isNew(each) && logged(`"pid":${each},`)),
    );
    times.push({ killedAt, exitedAt, replacedAfter: performance.now() - killedAt });
  }
  return times;
}

/** Kills the supervisor only. Returns the milliseconds until its workers have exited. */
async function killSupervisor(
  settings: Record<string, string>,
  isUnderLoad: boolean,
): Promise<number> {
  await using server = await startServer(settings);
  const { search } = await prepareAccount(server.url, 5);
  await waitUntil('two workers run', async () => (await workersOf(server)).length === 2);
  const pids = await workersOf(server);
  const continues = ({ status }: TimedOutcome) => status === 200;
  const sending = Array.from({ length: isUnderLoad ? 8 : 0 }, () =>
    keepSending(server.url, search, { continues }),
  );
  await sleep(300);
  const start = performance.now();
  server.child.kill('SIGKILL');
  try {
    await waitUntil('the workers have exited', () => !pids.some(isAlive));
    return performance.now() - start;
  } finally {
    for (const pid of pids.filter(isAlive)) process.kill(pid, 'SIGKILL');
    await Promise.all(sending.map((client) => client.stop()));
  }
}

/** Requests `/healthz` on new connections until it is stopped. */
function keepConnecting({ url }: Server) {
  const outcomes: Promise<TimedOutcome>[] = [];
  const call = { name: 'health', method: 'GET', path: '/healthz', headers: {} };
  const timer = setInterval(() => {
    outcomes.push(send(url, call, new Agent({ keepAlive: false })));
  }, 20);
  return {
    stop() {
      clearInterval(timer);
      return Promise.all(outcomes);
    },
  };
}

async function workersOf({ child }: Server): Promise<number[]> {
  const { stdout } = await run('pgrep', ['-P', String(child.pid)]).catch(() => ({ stdout: '' }));
  return stdout.split('\n').filter(Boolean).map(Number);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
