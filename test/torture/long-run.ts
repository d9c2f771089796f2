import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { assertIndexed, databaseFile } from '../support/integrity.ts';
import { startServer } from '../support/server.ts';
import { assertSound, readDataDir } from './soundness.ts';
import { openTraffic } from './traffic.ts';
import { CannotRun, type Trial } from './trial.ts';

const READERS = 4;
const WRITERS = 2;

/** How long everybody thinks between two requests, in milliseconds. */
const THINKING = 10;

/** How often memory and files are looked at, if that is not more often than every 100 ms. */
const SAMPLES = 1000;

const MB = 1024 * 1024;

/** What a server holds: bytes of memory and of write-ahead log, and open descriptors. */
interface Holding {
  memory: number;
  log: number;
  descriptors: number;
}

/** What the median of the last third may be, given that of the third before it. */
const ceilings: Record<keyof Holding, (before: number) => number> = {
  memory: (before) => before * 1.15 + 20 * MB,
  log: (before) => before * 1.15 + 8 * MB,
  descriptors: (before) => before + 8,
};

export const longRun: Trial = {
  promise: 'Memory, open files and the write-ahead log do not grow with the time that it serves.',
  async run(scale) {
    if (!existsSync('/proc/self/fd')) throw new CannotRun('needs /proc');
    const seconds = scale === 'full' ? 30 * 60 : 20;
    await using server = await startServer();
    const traffic = openTraffic();
    traffic.goTo(server.url);
    const deadline = performance.now() + seconds * 1000;
    const counts = { reads: 0, writes: 0, shed: 0 };

    const serve = async (ask: () => Promise<{ operation: string; status: number | undefined }>) => {
      let answered = 0;
      while (performance.now() < deadline) {
        const { operation, status } = await ask();
        // What else runs on the machine may make the service late.
        if (status === 503) counts.shed += 1;
        const isFine = status !== undefined && (status < 500 || status === 503);
        assert(isFine, `${operation} was answered ${status}\n${server.output()}`);
        answered += 1;
        await sleep(THINKING);
      }
      return answered;
    };
    const serving = Promise.all([
      ...Array.from({ length: WRITERS }, async () => {
        counts.writes += await serve(traffic.writer());
      }),
      ...Array.from({ length: READERS }, async () => {
        counts.reads += await serve(() => traffic.read());
      }),
    ]);

    const samples: Holding[] = [];
    const sampling = (async () => {
      while (performance.now() < deadline) {
        samples.push(holdingOf(server.child.pid as number, server.dataDir));
        await sleep(Math.max(100, (seconds * 1000) / SAMPLES));
      }
    })();
    await Promise.all([serving, sampling]);

    const share = counts.shed / (counts.reads + counts.writes);
    assert(
      share < 0.001,
      `${counts.shed} requests were turned away, although there was little to do`,
    );

    const third = Math.floor(samples.length / 3);
    const [middle, last] = [samples.slice(third, 2 * third), samples.slice(2 * third)];
    const measured = (Object.keys(ceilings) as (keyof Holding)[]).map((name) => {
      const before = median(middle.map((each) => each[name]));
      const after = median(last.map((each) => each[name]));
      const ceiling = ceilings[name](before);
      assert(after <= ceiling, `${name} went from ${before} to ${after}, above ${ceiling}`);
      const show = (value: number) =>
        name === 'descriptors' ? `${value}` : `${(value / MB).toFixed(1)} MB`;
      return `${name} ${show(before)}, then ${show(after)}`;
    });
    traffic.ledger.check(readDataDir(server.dataDir).facts);
    await assertSound(server.dataDir);
    await assertIndexed(server.dataDir);
    return `${seconds} s, ${counts.reads} reads and ${counts.writes} writes, ${counts.shed} of them turned away with 503, no other 5xx; medians of the middle and the last third: ${measured.join('; ')}`;
  },
};

function holdingOf(pid: number, dataDir: string): Holding {
  const resident = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  const log = `${databaseFile(dataDir)}-wal`;
  return {
    memory: Number(resident) * 1024,
    log: statSync(log, { throwIfNoEntry: false })?.size ?? 0,
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
  };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
