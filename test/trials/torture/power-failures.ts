import assert from 'node:assert/strict';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { assertIntact, databaseFile } from '../../support/integrity.ts';
import { startServer } from '../../support/server.ts';
import { type Leave, type Remains, recordDiskCalls, replayDisk } from './disk-contents.ts';
import { requireStrace } from './power.ts';
import { assertRebuildMatches, readData } from './soundness.ts';
import { openTraffic, type Traffic } from './traffic.ts';
import type { Trial } from './trial.ts';

const WRITERS = 8;

/** Of the failures, by their number. */
const REMAINS: readonly Remains[] = ['nothing', 'everything', 'some', 'some'];

/** Makes the disk slow, so that a response before its sync is noticed. */
const SLOW_SYNCS = ['-e', 'inject=fsync,fdatasync:delay_enter=3000'];

/** How much earlier the power fails in a control than the acknowledged writes are counted. */
const CONTROL_MS = 50;

const CONTROL_FAILURES = 10;

interface Moment {
  /** Milliseconds since 1970. */
  at: number;
  /** Number of acknowledged writes of each writer until then. */
  acknowledged: number[];
}

export const powerFailures: Trial = {
  promise:
    'After a power failure, the database is sound and has every acknowledged write, whatever is left of what was not synced.',
  runsOnPostgresql: false,
  async run(scale) {
    requireStrace();
    const [failures, intervalMs] = scale === 'full' ? [1000, 60] : [20, 150];
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'space-service-power-')));
    const trace = join(folder, 'trace');
    try {
      const traffic = openTraffic();
      const moments = await writeTraced(trace, join(folder, 'data'), traffic, failures, intervalMs);
      const failAt = async (i: number, moment: Moment, leave: Leave) => {
        const dataDir = await mkdtemp(join(folder, 'left-'));
        await leave(dataDir, REMAINS[i % REMAINS.length] as Remains);
        const { facts } = await readData({ dataDir });
        traffic.ledger.check(facts, moment.acknowledged);
        assertIntact(dataDir);
        if (i % 20 === 0) await assertRebuildMatches({ dataDir });
        await rm(dataDir, { recursive: true });
      };
      const times = moments.map(({ at }) => at);
      await replayDisk(trace, times, (i, leave) => failAt(i, moments[i] as Moment, leave));

      const last = moments.slice(-CONTROL_FAILURES);
      const [start = 0] = times;
      const controls: Record<string, [times: number[], isSynced?: (endedAt: number) => boolean]> = {
        'never syncs': [last.map(({ at }) => at), (endedAt) => endedAt < start],
        'syncs after its responses': [last.map(({ at }) => at - CONTROL_MS)],
      };
      for (const [name, [earlier, isSynced]] of Object.entries(controls)) {
        let losses = 0;
        const expectLoss = async (i: number, leave: Leave) => {
          const dataDir = await mkdtemp(join(folder, 'left-'));
          await leave(dataDir, 'nothing');
          const { facts } = await readData({ dataDir });
          try {
            traffic.ledger.check(facts, last[i]?.acknowledged);
          } catch {
            losses += 1;
          }
        };
        await replayDisk(trace, earlier, expectLoss, isSynced);
        assert(losses > 0, `A server that ${name} would pass.`);
      }
      const writes = moments.at(-1)?.acknowledged.reduce((sum, each) => sum + each, 0);
      return `${failures} power failures during ${writes} acknowledged writes of ${WRITERS} writers: none was lost, and each database was sound; servers that never sync, or after their responses, would lose writes`;
    } finally {
      await rm(folder, { recursive: true });
    }
  },
};

/** Makes writes on a server whose writes to disk are recorded in the trace. Returns random moments during them. */
async function writeTraced(
  trace: string,
  dataDir: string,
  traffic: Traffic,
  count: number,
  intervalMs: number,
): Promise<Moment[]> {
  const file = databaseFile(dataDir);
  const command = ['strace', ...recordDiskCalls(trace, [file, `${file}-wal`]), ...SLOW_SYNCS];
  await using server = await startServer({ DATA_DIR: dataDir, WORKERS: '2' }, command);
  traffic.setUrl(server.url);
  const moments: Moment[] = [];
  const writing = Array.from({ length: WRITERS }, async () => {
    const write = traffic.writer();
    while (moments.length < count) {
      const { status } = await write();
      assert(status !== undefined && status < 500, server.output());
    }
  });
  while (moments.length < count) {
    await sleep(2 * Math.random() * intervalMs);
    // Rounded up, because the clock of the trace is finer.
    moments.push({ at: Date.now() + 1, acknowledged: traffic.ledger.position() });
  }
  await Promise.all(writing);
  return moments;
}
