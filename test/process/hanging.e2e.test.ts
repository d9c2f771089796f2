import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startServer } from '../support/server.ts';

test('a worker that hangs is replaced', async () => {
  await using server = await startServer({ WORKERS: '2', LOG_LEVEL: 'info' });
  const listening = () => server.output().split('Server listening').length - 1;
  await expect.poll(listening).toBe(2);
  const [worker] = [...server.output().matchAll(/"pid":(\d+),.*Server listening/g)];
  const pid = Number(worker?.[1]);
  process.kill(pid, 'SIGSTOP');
  await expect.poll(() => server.output()).toContain('worker does not respond, killing it');
  await expect.poll(listening).toBe(3);
  expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  const request = () => fetch(`${server.url}/healthz`, { headers: { connection: 'close' } });
  const responses = await Promise.all(Array.from({ length: 20 }, request));
  expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]));
  expect(await server.stop()).toBe(0);
});

test.each(['1', '2'])(
  'systemd gets messages for its watchdog until the service hangs, with WORKERS=%s',
  async (WORKERS) => {
    await using cleanup = new AsyncDisposableStack();
    const folder = await mkdtemp(join(tmpdir(), 'watchdog-'));
    cleanup.defer(() => rm(folder, { recursive: true }));
    const messages = join(folder, 'messages');
    const program = join(folder, 'systemd-notify');
    await writeFile(program, `#!/bin/sh\necho "$@" >> ${messages}\n`);
    await chmod(program, 0o755);
    const PATH = folder + delimiter + process.env.PATH;
    const server = cleanup.use(await startServer({ PATH, WORKERS, WATCHDOG_USEC: '300000' }));
    const count = async () => (await readFile(messages, 'utf8')).split('WATCHDOG=1\n').length - 1;
    const before = await count();
    expect(before).toBeGreaterThan(0);
    await expect.poll(count).toBeGreaterThan(before + 2);
    server.child.kill('SIGSTOP');
    // For a message that is being sent.
    await sleep(500);
    const last = await count();
    await sleep(1_000);
    expect(await count()).toBe(last);
  },
);
