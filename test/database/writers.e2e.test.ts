import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../server/database/open.ts';

test('A worker writes soon although the writers of another one always wait for each other', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'writers-'));
  onTestFinished(() => rm(dataDir, { recursive: true }));
  await (await openDatabase({ dataDir }, { runsMaintenance: false })).close();
  cluster.setupPrimary({ exec: new URL('./writer-process.ts', import.meta.url).pathname });
  const start = (settings: object): Worker => {
    const worker = cluster.fork({ FILE: join(dataDir, 'space-service.sqlite'), ...settings });
    onTestFinished(() => void worker.process.kill('SIGKILL'));
    return worker;
  };
  const busy = start({ BACKLOG: '1' });
  await once(busy, 'message');
  const other = start({});
  // Not the time, which depends on other programs. About 30 writes; without the turnstile, thousands on an idle machine.
  const [writesOfBusy] = await once(other, 'message');
  expect(writesOfBusy).toBeLessThan(200);
});
