import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createTestDatabase, isPostgresql } from '../../support/databases.ts';
import { EARLY_INDEX } from '../../support/early-index.ts';
import { startProcess } from '../../support/processes.ts';
import { startServer } from '../../support/server.ts';
import { assertRebuildMatches, assertSound, countIndexedWords, readData } from './soundness.ts';
import { openTraffic } from './traffic.ts';
import type { Trial } from './trial.ts';

const WRITERS = 6;

/** Maximum time that the writers run before a kill. */
const MAX_WRITING_MS = 1500;

export const kill: Trial = {
  promise:
    'Acknowledged writes survive kill -9 of all processes; other writes are stored completely or not at all.',
  runsOnPostgresql: true,
  async run(scale) {
    const kills = scale === 'full' ? 200 : 4;
    const dataDir = await mkdtemp(join(tmpdir(), 'space-service-kill-'));
    await using database = await createTestDatabase();
    const settings = { ...database.settings, ...EARLY_INDEX, DATA_DIR: dataDir, WORKERS: '2' };
    const traffic = openTraffic();
    const writers = Array.from({ length: WRITERS }, () => traffic.writer());
    const counts = { acknowledged: 0, withoutResponse: 0, starts: 0 };
    try {
      for (let i = 1; ; i += 1) {
        await using server = await startServer(settings);
        const actual = await readData(server.location);
        traffic.ledger.check(actual.facts);
        await assertSound(server.location);
        if (i % 20 === 0 || i > kills) await assertRebuildMatches(server.location);
        if (i > kills) {
          const factCount = actual.facts.size;
          const words = await countIndexedWords(server.location);
          // On PostgreSQL, the lease of a killed process delays the index by two minutes.
          if (!isPostgresql) assert(words > 0, 'no message was indexed');
          return `${kills} kills with ${WRITERS} writers, ${counts.starts} more during a start; ${counts.acknowledged} acknowledged writes, none lost; ${counts.withoutResponse} without a response, none stored partially; ${factCount} facts at the end`;
        }
        traffic.settle(actual);
        traffic.setUrl(server.url);

        let isKilled = false;
        const writing = writers.map(async (write) => {
          for (;;) {
            const { status, operation } = await write();
            if (status === undefined) {
              assert(isKilled, `${operation} got no response from a running server`);
              counts.withoutResponse += 1;
              return;
            }
            assert(status < 500, `${operation} returned ${status}:\n${server.output()}`);
            if (status < 300) counts.acknowledged += 1;
          }
        });
        const written = Promise.all(writing);
        await Promise.race([written, sleep(Math.random() * MAX_WRITING_MS)]);
        isKilled = true;
        await server.kill();
        await written;
        if (i % 4 === 0) {
          await killDuringStart(settings);
          counts.starts += 1;
        }
      }
    } finally {
      await rm(dataDir, { recursive: true, force: true });
    }
  },
};

/** Kills a server during its start, possibly while it reads the write-ahead log of the previous one. */
async function killDuringStart(settings: Record<string, string>): Promise<void> {
  const env = { ...settings, PORT: '0', LOG_LEVEL: 'silent' };
  await using starting = startProcess(process.execPath, ['server/main.ts'], env);
  await Promise.race([starting.exited, sleep(300 + Math.random() * 1200)]);
}
