import { expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import { clientOf, register } from '../support/client.ts';
import { preload } from '../support/processes.ts';
import { startServer } from '../support/server.ts';

/** After SIGUSR2, the disk no longer confirms writes. */
const WITH_FAILING_DISK = preload(`
  import fs from 'node:fs';
  import { syncBuiltinESMExports } from 'node:module';
  import { isMainThread } from 'node:worker_threads';
  const { fdatasync } = fs;
  let fails = false;
  if (isMainThread) process.on('SIGUSR2', () => { fails = true; });
  fs.fdatasync = (file, done) =>
    fails ? setImmediate(done, new Error('EIO: i/o error, fdatasync')) : fdatasync(file, done);
  syncBuiltinESMExports();`);

test('A server whose disk fails ends without acknowledging the write', async () => {
  await using server = await startServer(WITH_FAILING_DISK);
  const { client, token } = await register(server.url, 'ada');
  server.child.kill('SIGUSR2');
  const { response } = await api.changeBio({ client, body: { bio: 'Lost' } });
  expect(response).toBeUndefined();
  expect(await server.stop()).toBe(1);
  expect(server.output()).toContain('space-service.sqlite-wal could not be written to the disk.');

  await using next = await startServer({ DATA_DIR: server.dataDir });
  const { data } = await api.getProfile({ client: clientOf(next.url, token), throwOnError: true });
  expect(data.username).toBe('ada');
});
