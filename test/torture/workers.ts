import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type Server, startServer } from '../support/server.ts';
import { duration, keepSending, type Outcome, quantile, send, settle } from './load.ts';
import { CannotRun, type Trial } from './trial.ts';

const run = promisify(execFile);

/** How soon a killed worker must have been replaced, and the workers of a killed supervisor be gone, in milliseconds. */
const SOON = 20_000;

export const workers: Trial = {
  promise:
    'A worker that is killed is replaced, and only the requests in its hands are lost; without their supervisor, workers end.',
  async run(scale) {
    const kills = scale === 'full' ? 30 : 3;
    await run('pgrep', ['-V']).catch(() => {
      throw new CannotRun('it takes pgrep to find the workers');
    });
    const settings = { WORKERS: '2' };
    await using server = await startServer({ ...settings, LOG_LEVEL: 'info' });
    const person = await settle(server.url);
    const listening = () => server.output().split('Server listening').length - 1;
    await until(() => listening() === 2, 'there are no two workers');
    const clients = Array.from({ length: 6 }, (_, i) =>
      keepSending(server.url, i % 2 === 0 ? person.search : person.profile),
    );
    const knocking = keepKnocking(server);
    const times: { at: number; replacedAfter: number }[] = [];
    for (let i = 0; i < kills; i += 1) {
      await sleep(300 + Math.random() * 700);
      const before = await workersOf(server);
      assert.equal(before.length, 2);
      const isNew = (pid: number) => !before.includes(pid);
      const victim = before[i % 2] as number;
      const { length } = server.output();
      const logged = (line: string) => server.output().slice(length).includes(line);
      const at = performance.now();
      process.kill(victim, 'SIGKILL');
      await until(() => logged('worker exited, starting another one'), 'the log has no line');
      await until(
        async () =>
          (await workersOf(server)).some((each) => isNew(each) && logged(`"pid":${each},`)),
        'no new worker serves',
      );
      times.push({ at, replacedAfter: performance.now() - at });
    }
    await sleep(500);
    const outcomes = [
      ...(await knocking.stop()),
      ...(await Promise.all(clients.map((client) => client.stop()))).flat(),
    ];

    const failed = outcomes.filter(({ status }) => status !== 200);
    for (const { begun, ended, status, error, name, isReused } of failed) {
      const kill = times.findLast(({ at }) => at < ended)?.at ?? 0;
      const what = `${name} failed with ${status ?? error}, ${Math.round(begun - kill)} to ${Math.round(ended - kill)} ms after a kill, reused: ${isReused}`;
      assert(status === undefined && error === 'ECONNRESET', what);
      // The worker had the connection, or was being handed it.
      assert(begun - kill < 100, what);
    }
    assert.equal(await server.stop(), 0);
    const slowest = quantile(
      times.map(({ replacedAfter }) => replacedAfter),
      1,
    );
    const p99 = quantile(outcomes.map(duration), 0.99);
    const orphaned = [await orphan(settings, false), await orphan(settings, true)];
    return `${kills} workers killed and replaced within ${(slowest / 1000).toFixed(1)} s, a line in the log for each; of ${outcomes.length} requests, ${failed.length} were in the hands of a killed worker and lost, none else failed, p99 ${p99.toFixed(1)} ms; without their supervisor, workers were gone after ${orphaned.map(Math.round).join(' ms, and under load after ')} ms`;
  },
};

/** Kills the supervisor alone. Answers with how long its workers outlive it, in milliseconds. */
async function orphan(settings: Record<string, string>, underLoad: boolean): Promise<number> {
  await using server = await startServer(settings);
  const { search } = await settle(server.url, 5);
  await until(async () => (await workersOf(server)).length === 2, 'there are no two workers');
  const pids = await workersOf(server);
  const goesOn = ({ status }: Outcome) => status === 200;
  const clients = underLoad ? Array.from({ length: 8 }, () => 0) : [];
  const sending = clients.map(() => keepSending(server.url, search, { goesOn }));
  await sleep(300);
  const begun = performance.now();
  server.child.kill('SIGKILL');
  try {
    await until(() => !pids.some(isAlive), 'the workers live on');
    return performance.now() - begun;
  } finally {
    for (const pid of pids.filter(isAlive)) process.kill(pid, 'SIGKILL');
    await Promise.all(sending.map((client) => client.stop()));
  }
}

/** Asks on ever new connections. */
function keepKnocking({ url }: Server) {
  const outcomes: Promise<Outcome>[] = [];
  const call = { name: 'knock', method: 'GET', path: '/healthz', headers: {} };
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

async function until(isDone: () => boolean | Promise<boolean>, otherwise: string): Promise<void> {
  const deadline = performance.now() + SOON;
  while (!(await isDone())) {
    assert(performance.now() < deadline, otherwise);
    await sleep(20);
  }
}
