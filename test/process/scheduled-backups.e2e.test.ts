import { mkdir, mkdtemp, readdir, rm, rmdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { uploadAvatar } from '../support/avatar.ts';
import { register } from '../support/client.ts';
import { completeCommand, runProgram } from '../support/commands.ts';
import { EX_CONFIG } from '../support/exit-codes.ts';
import { parseMetrics } from '../support/metrics.ts';
import { awsEnvironment, hasS3Server, type S3Server, startS3Server } from '../support/s3.ts';
import { type Server, startServer } from '../support/server.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'scheduled-'));
});
afterAll(() => rm(folder, { recursive: true }));

const METRICS_TOKEN = 'sesame';
async function readMetrics({ url }: Server) {
  const headers = { authorization: `Bearer ${METRICS_TOKEN}` };
  return parseMetrics(await (await fetch(`${url}/metrics`, { headers })).text());
}
const madeBackups = (server: Server) => server.output().split('"made a backup"').length - 1;

test.each(['1', '2'])(
  'With WORKERS=%s, one process makes the backup of the day',
  async (WORKERS) => {
    const BACKUPS_FOLDER = join(folder, WORKERS);
    const settings = {
      WORKERS,
      METRICS_TOKEN,
      BACKUPS: 'daily:7',
      BACKUPS_FOLDER,
      LOG_LEVEL: 'info',
    };
    await using server = await startServer(settings);
    await expect.poll(() => madeBackups(server)).toBe(1);
    const databases = (await readdir(BACKUPS_FOLDER)).filter((name) => name.endsWith('.db'));
    expect(databases).toHaveLength(1);
    const figure = await readMetrics(server);
    const age = Date.now() / 1000 - figure('space_service_last_backup_timestamp_seconds');
    expect(age).toBeLessThan(60);
    expect(figure('space_service_backup_failing')).toBe(0);
    expect(await server.stop()).toBe(0);
  },
);

test('A backup that fails is in the log and in the metrics until one succeeds', async () => {
  const DATA_DIR = join(folder, 'failing-data');
  let avatar: string;
  {
    await using server = await startServer({ DATA_DIR });
    avatar = basename(await uploadAvatar(await register(server.url, 'ada')));
    await server.stop();
  }
  const BACKUPS_FOLDER = join(folder, 'failing');
  const obstacle = join(BACKUPS_FOLDER, 'avatars', avatar);
  await mkdir(obstacle, { recursive: true });
  const settings = {
    DATA_DIR,
    METRICS_TOKEN,
    BACKUPS: 'daily:7',
    BACKUPS_FOLDER,
    LOG_LEVEL: 'info',
  };
  {
    await using server = await startServer(settings);
    await expect.poll(() => server.output()).toContain('the scheduled backup failed');
    const failing = async () => (await readMetrics(server))('space_service_backup_failing');
    await expect.poll(failing).toBe(1);
    const figure = await readMetrics(server);
    expect(figure('space_service_last_backup_timestamp_seconds')).toBe(0);
    expect(madeBackups(server)).toBe(0);
    await server.stop();
  }
  await rmdir(obstacle);
  await using server = await startServer(settings);
  await expect.poll(() => madeBackups(server)).toBe(1);
  const failing = async () => (await readMetrics(server))('space_service_backup_failing');
  await expect.poll(failing).toBe(0);
});

test('A folder that cannot be used stops the start with one line', async () => {
  const file = join(folder, 'file');
  await writeFile(file, '');
  const settings = {
    BACKUPS: 'daily:7',
    BACKUPS_FOLDER: join(file, 'x'),
    DATA_DIR: join(folder, 'd'),
  };
  const { code, stderr } = await runProgram('start', [], settings);
  expect(code).toBe(EX_CONFIG);
  expect(stderr).toMatch(/^ENOTDIR[^\n]* Check BACKUPS_FOLDER[^\n]*\n$/);
});

describe.skipIf(!hasS3Server)('With an S3 server', () => {
  let s3: S3Server;
  beforeAll(async () => {
    s3 = await startS3Server();
  });
  afterAll(() => s3?.[Symbol.asyncDispose]());

  test('backups are made in a bucket, and restored from it', async () => {
    const { AVATARS_BUCKET, AVATARS_ENDPOINT } = await s3.createBucket();
    const settings = {
      ...awsEnvironment,
      BACKUPS: 'daily:7',
      BACKUPS_BUCKET: AVATARS_BUCKET,
      BACKUPS_ENDPOINT: AVATARS_ENDPOINT,
    };
    const DATA_DIR = join(folder, 'bucket-data');
    {
      await using server = await startServer({ DATA_DIR });
      await uploadAvatar(await register(server.url, 'ada'));
      await server.stop();
    }
    {
      await using server = await startServer({ ...settings, DATA_DIR, LOG_LEVEL: 'info' });
      await expect.poll(() => madeBackups(server)).toBe(1);
      await server.stop();
    }
    expect(await readdir(DATA_DIR)).not.toContain('backup.part');
    const keys = await s3.listKeys(AVATARS_BUCKET);
    expect(keys).toHaveLength(3);
    const restored = { ...settings, DATA_DIR: join(folder, 'restored') };
    const process = await runProgram('restore', [], restored);
    const name = process.stdout.trim();
    expect(keys).toContain(`${name}.db`);
    const { code, stdout } = await runProgram('restore', [name], restored);
    expect(code).toBe(0);
    expect(stdout).toContain('1 avatar copied');
    expect(await completeCommand('accounts', [], { DATA_DIR: restored.DATA_DIR })).toContain('ada');
    expect(await readdir(join(restored.DATA_DIR, 'avatars'))).toHaveLength(3);
  });

  test('a bucket that does not exist stops the start with one line', async () => {
    const settings = {
      ...awsEnvironment,
      BACKUPS: 'daily:7',
      BACKUPS_BUCKET: 'missing',
      BACKUPS_ENDPOINT: s3.url,
      DATA_DIR: join(folder, 'missing'),
    };
    const { code, stderr } = await runProgram('start', [], settings);
    expect(code).toBe(EX_CONFIG);
    expect(stderr).toMatch(
      /^The backup bucket missing cannot be used[^\n]*BACKUPS_BUCKET[^\n]*\n$/,
    );
  });
});
