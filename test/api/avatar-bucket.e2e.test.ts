import type { InjectOptions } from 'fastify';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import { startApp, type TestApp } from '../support/app.ts';
import { avatarFile, uploadAvatar } from '../support/avatar.ts';
import type { TestUser } from '../support/client.ts';
import { recordLog } from '../support/record-log.ts';
import {
  awsEnvironment,
  type BucketSettings,
  hasS3Server,
  type S3Server,
  startS3Server,
} from '../support/s3.ts';

let server: S3Server;
let settings: BucketSettings;
let app: TestApp;

beforeAll(async () => {
  for (const [name, value] of Object.entries(awsEnvironment)) vi.stubEnv(name, value);
  if (hasS3Server) server = await startS3Server();
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  vi.unstubAllEnvs();
});

/** Uploads an avatar and returns its name. */
async function upload(user: TestUser): Promise<string> {
  return nameIn(await uploadAvatar(user));
}

const nameIn = (url: string) => url.split('/').at(-1) as string;

async function readAvatarOf({ client }: TestUser): Promise<string> {
  const { data } = await api.getProfile({ client, throwOnError: true });
  return nameIn(data.profile_picture);
}

async function listAvatars(): Promise<string[]> {
  const keys = await server.listKeys(settings.AVATARS_BUCKET);
  return keys.filter((key) => key !== 'default.webp');
}

const statusOf = async (name: string, from = app) => (await from.fetch(`/avatars/${name}`)).status;

describe.skipIf(!hasS3Server)('Avatars in a bucket', () => {
  beforeEach(async () => {
    settings = await server.createBucket();
    app = await startApp(settings);
  });
  afterEach(() => app?.[Symbol.asyncDispose]());

  test('have the same responses as those in a folder', async () => {
    await using folderApp = await startApp();
    const apps = [folderApp, app];
    const users = await Promise.all(apps.map((each) => each.register()));
    const names = await Promise.all(users.map(upload));
    const requestBoth = (init: InjectOptions, name?: string) =>
      Promise.all(
        apps.map(async ({ app }, i) => {
          // Not with `fetch`, which adds `Cache-Control: no-cache` to conditional requests.
          const response = await app.inject({ ...init, url: `/avatars/${name ?? names[i]}` });
          const headers = { ...response.headers };
          // Their values depend on the time, the port and the request.
          const varying = [
            'date',
            'etag',
            'last-modified',
            'content-security-policy',
            'x-request-id',
          ];
          for (const name of varying) if (name in headers) headers[name] = 'present';
          const isProblem = headers['content-type'] === 'application/problem+json';
          const body = isProblem
            ? { ...response.json(), request_id: '' }
            : response.rawPayload.toString('latin1');
          return { status: response.statusCode, headers, body };
        }),
      );
    const seen = new Set<number>();
    for (const init of [
      {},
      { method: 'HEAD' },
      { method: 'DELETE' },
      ...[
        { origin: 'https://a.example' },
        { range: 'bytes=0-3' },
        { range: 'bytes=4-' },
        { range: 'bytes=-4' },
        { range: 'bytes=0-999999' },
        { range: 'bytes=0-1,4-5' },
        { range: 'bytes=999999-' },
        { range: 'bytes=5-2' },
        { range: 'bytes=-0' },
        { range: 'bytes=abc' },
        { range: 'bytes=' },
        { range: 'items=0-1' },
        { range: 'bytes=0-3', 'if-range': '"other"' },
        { range: 'bytes=0-3', 'if-range': '"2099-01-01"' },
        { range: 'bytes=0-3', 'if-range': 'Mon, 01 Jan 2001 00:00:00 GMT' },
        { range: 'bytes=0-3', 'if-range': 'Thu, 01 Jan 2099 00:00:00 GMT' },
        { 'if-match': '"other"' },
        { 'if-match': '*' },
        { 'if-match': 'nonsense' },
        { 'if-none-match': '*' },
        { 'if-none-match': '"other"' },
        { 'if-none-match': '*', 'cache-control': 'no-cache' },
        { 'if-modified-since': 'Thu, 01 Jan 2099 00:00:00 GMT' },
        { 'if-modified-since': 'Mon, 01 Jan 2001 00:00:00 GMT' },
        { 'if-modified-since': 'nonsense' },
        { 'if-unmodified-since': 'Mon, 01 Jan 2001 00:00:00 GMT' },
        { 'if-unmodified-since': 'Thu, 01 Jan 2099 00:00:00 GMT' },
      ].map((headers) => ({ headers })),
    ] as InjectOptions[]) {
      const [folder, bucket] = await requestBoth(init);
      expect(bucket, JSON.stringify(init)).toEqual(folder);
      seen.add(bucket?.status as number);
    }
    expect([...seen].sort()).toEqual([200, 206, 304, 405, 412, 416]);
    for (const name of [
      'default.webp',
      'AAAAAAAAAAAAAAAAAAAAAA.webp',
      'store.ts',
      '..%2fconfig.ts',
      '',
    ]) {
      const [folder, bucket] = await requestBoth({}, name);
      expect(bucket, name).toEqual(folder);
      expect(bucket?.status, name).toBe(name === 'default.webp' ? 200 : 404);
    }
  });

  test('support conditional and range requests with the ETag and Last-Modified of the response', async () => {
    const url = `/avatars/${await upload(await app.register())}`;
    const { headers } = await app.fetch(url);
    const etag = headers.get('etag') as string;
    const modified = headers.get('last-modified') as string;
    for (const [sent, status] of [
      [{ 'if-none-match': etag }, 304],
      [{ 'if-none-match': `"a", W/${etag}` }, 304],
      [{ 'if-modified-since': modified }, 304],
      [{ 'if-match': `"a", ${etag}` }, 200],
      [{ 'if-unmodified-since': modified }, 200],
      [{ range: 'bytes=0-3', 'if-range': etag }, 206],
      [{ range: 'bytes=0-3', 'if-range': modified }, 206],
    ] as [Record<string, string>, number][]) {
      const { statusCode } = await app.app.inject({ url, headers: sent });
      expect(statusCode, JSON.stringify(sent)).toBe(status);
    }
  });

  test('are shared by processes, and gone after a change, a removal or a deletion', async () => {
    await using other = await startApp(settings, { sharesDataOf: app });
    const user = await app.register();
    const first = await upload(user);
    expect(await statusOf(first, other)).toBe(200);
    const second = await upload(user);
    await expect.poll(listAvatars).toEqual([second]);
    expect([await statusOf(first, other), await statusOf(second, other)]).toEqual([404, 200]);
    await api.removeProfilePicture({ client: user.client, throwOnError: true });
    await expect.poll(listAvatars).toEqual([]);
    const third = await upload(user);
    expect(await listAvatars()).toEqual([third]);
    await api.deleteAccount({ client: user.client, throwOnError: true });
    await expect.poll(listAvatars).toEqual([]);
    expect(await statusOf(third, other)).toBe(404);
  });

  test('have URLs of the CDN, if there is one', async () => {
    const otherSettings = await server.createBucket();
    await using other = await startApp({ ...otherSettings, CDN_URL: 'https://cdn.example.org' });
    const user = await other.register();
    expect(await uploadAvatar(user)).toMatch(/^https:\/\/cdn\.example\.org\/[\w-]{22}\.webp$/);
  });

  test('are unavailable while the bucket is, without an effect on anything else', async () => {
    const user = await app.register();
    const avatar = await upload(user);
    const gone = await app.register();
    await upload(gone);
    await server.kill();
    try {
      const { error, response } = await api.changeProfilePicture({
        client: user.client,
        body: { avatar: await avatarFile() },
      });
      expect(error).toMatchObject({ status: 503, code: 'unavailable' });
      expect(response?.headers.get('retry-after')).toBe('2');
      const read = await app.fetch(`/avatars/${avatar}`);
      expect(await read.json()).toMatchObject({ status: 503, code: 'unavailable' });
      expect(read.headers.get('retry-after')).toBe('2');
      expect(read.headers.get('cache-control')).toBe('no-store');
      expect(await statusOf('default.webp')).toBe(200);
      expect((await app.fetch('/readyz')).status).toBe(200);
      expect(await readAvatarOf(user)).toBe(avatar);
      await api.deleteAccount({ client: gone.client, throwOnError: true });
      // Another process starts meanwhile.
      await using other = await startApp(settings, { sharesDataOf: app });
      expect(await readAvatarOf({ ...user, client: other.client(user.token) })).toBe(avatar);
    } finally {
      await server.start();
    }
    expect(await statusOf(avatar)).toBe(200);
    expect(await listAvatars()).toHaveLength(2);
    // The deletion is recorded, so that any process continues it, even after a crash.
    await using other = await startApp(settings, { sharesDataOf: app });
    await other.context.housekeeping.run();
    expect(await listAvatars()).toEqual([avatar]);
    expect(await upload(user)).not.toBe(avatar);
  });

  test('of another database are not deleted, even if the bucket was unavailable at the start', async () => {
    const avatar = await upload(await app.register());
    await server.makeOld(settings.AVATARS_BUCKET);
    await server.kill();
    const { log, lines } = recordLog<{ level: number; err?: { message: string } }>('warn');
    const starting = startApp(settings, { log });
    await using other = await starting.finally(() => server.start());
    const { client } = await other.register();
    await other.context.housekeeping.run();
    expect(await listAvatars()).toEqual([avatar]);
    const body = { avatar: await avatarFile() };
    const { error } = await api.changeProfilePicture({ client, body });
    expect(error).toMatchObject({ status: 503, code: 'unavailable' });
    expect(await listAvatars()).toEqual([avatar]);
    const failures = lines.filter(({ level }) => level === 50);
    expect(failures.map(({ err }) => err?.message)).toEqual([
      expect.stringContaining('belongs to another database'),
    ]);
  });

  test('are deleted by housekeeping if no account has them', async () => {
    const avatar = await upload(await app.register());
    await app.context.avatars.put('AAAAAAAAAAAAAAAAAAAAAA.webp', Buffer.from('unused'));
    await app.context.housekeeping.run();
    expect(await listAvatars()).toHaveLength(2);
    await server.makeOld(settings.AVATARS_BUCKET);
    await app.context.housekeeping.run();
    expect(await listAvatars()).toEqual([avatar]);
  });
});
