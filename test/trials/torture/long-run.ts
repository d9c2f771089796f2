import assert from 'node:assert/strict';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { assertIndexed, databaseFile } from '../../support/integrity.ts';
import { residentBytes } from '../../support/process-usage.ts';
import { startServer } from '../../support/server.ts';
import { median } from '../../support/statistics.ts';
import { assertSound, readData } from './soundness.ts';
import { openTraffic } from './traffic.ts';
import { MissingRequirement, type Trial } from './trial.ts';

const READERS = 4;
const WRITERS = 2;

/** Pause of each client between two requests. */
const THINK_TIME_MS = 10;

/** Number of samples in a full run. Samples are at least 100 ms apart. */
const SAMPLES = 1000;

const MEBIBYTE = 1024 * 1024;

/** Resources of a server: bytes of memory and of the write-ahead log, and open descriptors. */
interface ResourceUsage {
  memory: number;
  log: number;
  descriptors: number;
}

/** Maximum median of the last third of the samples, given the median of the middle third. */
const limits: Record<keyof ResourceUsage, (before: number) => number> = {
  memory: (before) => before * 1.15 + 20 * MEBIBYTE,
  log: (before) => before * 1.15 + 8 * MEBIBYTE,
  descriptors: (before) => before + 8,
};

export const longRun: Trial = {
  promise: 'Memory, open files and the write-ahead log do not grow while the service runs.',
  runsOnPostgresql: false,
  async run(scale) {
    if (!existsSync('/proc/self/fd')) throw new MissingRequirement('needs /proc');
    const seconds = scale === 'full' ? 30 * 60 : 12;
    await using server = await startServer();
    const traffic = openTraffic();
    traffic.setUrl(server.url);
    const deadline = performance.now() + seconds * 1000;
    const counts = { reads: 0, writes: 0 };

    const sendRequests = async (
      send: () => Promise<{ operation: string; status: number | undefined }>,
    ) => {
      let count = 0;
      while (performance.now() < deadline) {
        const { operation, status } = await send();
        assert(
          status !== undefined && status < 500,
          `${operation} returned ${status}\n${server.output()}`,
        );
        count += 1;
        await sleep(THINK_TIME_MS);
      }
      return count;
    };
    const serving = Promise.all([
      ...Array.from({ length: WRITERS }, async () => {
        const count = await sendRequests(traffic.writer());
        counts.writes += count;
      }),
      ...Array.from({ length: READERS }, async () => {
        const count = await sendRequests(() => traffic.read());
        counts.reads += count;
      }),
    ]);

    const samples: ResourceUsage[] = [];
    const sampling = (async () => {
      while (performance.now() < deadline) {
        samples.push(measureUsage(server.child.pid as number, server.dataDir));
        await sleep(Math.max(100, (seconds * 1000) / SAMPLES));
      }
    })();
    await Promise.all([serving, sampling]);

    const third = Math.floor(samples.length / 3);
    const middle = samples.slice(third, 2 * third);
    const last = samples.slice(2 * third);
    const measured = (Object.keys(limits) as (keyof ResourceUsage)[]).map((name) => {
      const before = median(middle.map((each) => each[name]));
      const after = median(last.map((each) => each[name]));
      const limit = limits[name](before);
      assert(after <= limit, `${name} grew from ${before} to ${after}, more than ${limit}`);
      const format = (value: number) =>
        name === 'descriptors' ? `${value}` : `${(value / MEBIBYTE).toFixed(1)} MiB`;
      return `${name} ${format(before)}, then ${format(after)}`;
    });
    traffic.ledger.check((await readData(server.location)).facts);
    await assertSound(server.location);
    await assertIndexed(server.dataDir);
    return `${seconds} s, ${counts.reads} reads and ${counts.writes} writes, none failed; medians of the middle and the last third: ${measured.join('; ')}`;
  },
};

function measureUsage(pid: number, dataDir: string): ResourceUsage {
  const log = `${databaseFile(dataDir)}-wal`;
  return {
    memory: residentBytes(pid),
    log: statSync(log, { throwIfNoEntry: false })?.size ?? 0,
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
  };
}
