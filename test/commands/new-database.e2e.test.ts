import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ada } from '../import-export/records.ts';
import { runCommand, runProgram, startProgram } from '../support/commands.ts';
import { databaseFile } from '../support/integrity.ts';
import { toNdjson } from '../support/ndjson.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'new-database-'));
});
afterAll(() => rm(folder, { recursive: true }));

const lines = toNdjson([ada]);

describe('A new database', () => {
  test('can be created after an interrupted attempt', async () => {
    for (let delay = 0; delay < 16; delay += 2) {
      const DATA_DIR = join(folder, `interrupted-${delay}`);
      const file = databaseFile(DATA_DIR);
      const interrupted = startProgram('import', ['-'], { DATA_DIR }, lines);
      await expect.poll(() => existsSync(file), { interval: 1 }).toBe(true);
      await sleep(delay);
      await interrupted.kill();
      const retried = await runCommand('import', ['-'], { DATA_DIR }, lines);
      expect(retried, `after ${delay} ms`).toMatchObject({ code: 0, stderr: '' });
    }
  });

  test('can be created by two processes concurrently', async () => {
    for (let i = 0; i < 4; i += 1) {
      const DATA_DIR = join(folder, `concurrent-${i}`);
      const results = await Promise.all([
        runProgram('import', ['-'], { DATA_DIR }, lines),
        runProgram('import', ['-'], { DATA_DIR }, lines),
      ]);
      for (const result of results) expect(result).toMatchObject({ code: 0, stderr: '' });
    }
  });
});
