import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../server/database/open.ts';

test('A process writes soon although the writers of another one always wait for each other', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'writers-'));
  onTestFinished(() => rm(dataDir, { recursive: true }));
  await (await openDatabase({ dataDir }, { runsMaintenance: false })).close();
  const start = (settings: object): ChildProcess => {
    const env = { ...process.env, FILE: join(dataDir, 'space-service.sqlite'), ...settings };
    const writer = fork(new URL('./writer-process.ts', import.meta.url), { env });
    onTestFinished(() => void writer.kill('SIGKILL'));
    return writer;
  };
  const busy = start({ BACKLOG: '1' });
  await once(busy, 'message');
  const other = start({});
  const [milliseconds] = await once(other, 'message');
  // About 100. With intervals that double, about ten seconds.
  expect(milliseconds).toBeLessThan(2_000);
});
