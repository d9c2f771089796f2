import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { uploadAvatar } from '../support/avatar.ts';
import { register } from '../support/client.ts';
import { runCommand, runProgram } from '../support/commands.ts';
import { EX_CONFIG } from '../support/exit-codes.ts';
import { freePort } from '../support/ports.ts';
import { awsEnvironment, hasS3Server, type S3Server, startS3Server } from '../support/s3.ts';
import { startServer } from '../support/server.ts';

let dataDir: string;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'bucket-start-'));
});
afterAll(() => rm(dataDir, { recursive: true }));

test('The service starts if the bucket is unavailable, and logs a warning', async () => {
  const port = await freePort();
  const settings = {
    ...awsEnvironment,
    AVATARS_BUCKET: 'avatars',
    AVATARS_ENDPOINT: `http://127.0.0.1:${port}`,
  };
  await using server = await startServer(settings);
  const warning = server.output().match(/^.*until the avatar bucket is available.*$/m)?.[0] ?? '{}';
  expect(JSON.parse(warning).err.message).toBe(
    `The avatar bucket avatars cannot be used: connect ECONNREFUSED 127.0.0.1:${port}.`,
  );
  const statusOf = async (path: string) => (await fetch(server.url + path)).status;
  expect(await statusOf('/api/spaces/search?q=tea')).toBe(200);
  expect(await statusOf('/avatars/default.webp')).toBe(200);
  expect(await statusOf('/avatars/AAAAAAAAAAAAAAAAAAAAAA.webp')).toBe(503);
  expect(await readdir(server.dataDir)).not.toContain('avatars');
  const backup = await runCommand('backup', [join(dataDir, 'backup.sqlite')], {
    ...settings,
    DATA_DIR: server.dataDir,
  });
  expect(backup).toMatchObject({ code: 0, stderr: expect.stringContaining('bucket avatars') });
  expect(await server.stop()).toBe(0);
});

describe.skipIf(!hasS3Server)('With an S3 server', () => {
  let s3: S3Server;
  beforeAll(async () => {
    s3 = await startS3Server();
  });
  afterAll(() => s3?.[Symbol.asyncDispose]());

  test.each([
    ['1', { AVATARS_BUCKET: 'missing' }],
    ['2', { AVATARS_BUCKET: 'missing' }],
    ['1', { AWS_SECRET_ACCESS_KEY: 'wrong' }],
  ])('with WORKERS=%s, %j stops the start with one line', async (workers, wrong) => {
    const settings = await s3.createBucket();
    const { code, stderr } = await runProgram('start', [], {
      ...awsEnvironment,
      ...settings,
      DATA_DIR: dataDir,
      PORT: String(await freePort()),
      WORKERS: workers,
      LOG_LEVEL: 'silent',
      ...wrong,
    });
    expect(stderr).toMatch(/^The avatar bucket \S+ cannot be used: [^\n]+\n$/);
    expect(code).toBe(EX_CONFIG);
  });

  test.each(['1', '2'])(
    'with WORKERS=%s, a bucket of another database stops the start with one line',
    async (workers) => {
      const settings = { ...awsEnvironment, ...(await s3.createBucket()) };
      await using first = await startServer({ ...settings, WORKERS: workers });
      expect(await first.stop()).toBe(0);
      const { code, stderr } = await runProgram('start', [], {
        ...settings,
        DATA_DIR: dataDir,
        PORT: String(await freePort()),
        WORKERS: workers,
        LOG_LEVEL: 'silent',
      });
      expect(stderr).toMatch(
        /^The avatar bucket \S+ belongs to another database[^\n]+ delete the object space-service-database\.txt [^\n]+\n$/,
      );
      expect(code).toBe(EX_CONFIG);
    },
  );

  test('the service starts with the bucket of a database that was restored from a backup', async () => {
    const settings = { ...awsEnvironment, ...(await s3.createBucket()) };
    await using first = await startServer(settings);
    const folder = await mkdtemp(join(tmpdir(), 'bucket-restore-'));
    try {
      const file = join(folder, 'space-service.sqlite');
      const ofFirst = { ...settings, DATA_DIR: first.dataDir };
      expect((await runCommand('backup', [file], ofFirst)).code).toBe(0);
      await using restored = await startServer({ ...settings, DATA_DIR: folder });
      expect(await restored.stop()).toBe(0);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test('the commands for operators remove avatars from the bucket', async () => {
    const settings = { ...awsEnvironment, ...(await s3.createBucket()) };
    const listKeys = () => s3.listKeys(settings.AVATARS_BUCKET);
    await using server = await startServer({ ...settings, WORKERS: '2' });
    const ada = await register(server.url, 'ada');
    const run = (command: string) =>
      runProgram(command, [ada.email], {
        ...settings,
        DATA_DIR: server.dataDir,
      });
    await uploadAvatar(ada);
    expect(await listKeys()).toHaveLength(2);
    expect(await run('remove-avatar')).toMatchObject({
      code: 0,
      stderr: `Database: DATA_DIR=${server.dataDir}\n`,
    });
    expect(await listKeys()).toEqual(['default.webp']);

    const avatarUrl = await uploadAvatar(ada);
    expect((await fetch(avatarUrl)).status).toBe(200);
    await run('suspend-account');
    await s3.kill();
    const failed = await run('delete-account');
    expect(failed.code).toBe(1);
    expect(failed.stderr).toMatch(/^The change to the account [^\n]+ECONNREFUSED[^\n]+\n$/);
    await s3.start();
    expect(await listKeys()).toHaveLength(2);
    // As after a crash: a server that starts later deletes it.
    await server.kill();
    await using other = await startServer({ ...settings, DATA_DIR: server.dataDir });
    await expect.poll(listKeys).toEqual(['default.webp']);
    expect((await fetch(`${other.url}${new URL(avatarUrl).pathname}`)).status).toBe(404);
  });
});
