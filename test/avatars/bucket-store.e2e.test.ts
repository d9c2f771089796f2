import { readFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { openAvatarBucket } from '../../server/avatars/bucket-store.ts';
import {
  type AvatarStore,
  DEFAULT_AVATAR_FILE,
  DEFAULT_AVATAR_NAME,
  newAvatarName,
} from '../../server/avatars/store.ts';
import { OperatorError } from '../../server/errors.ts';
import { MARKER_NAME } from '../../server/storage/database-marker.ts';
import { startHttpServer } from '../support/http-server.ts';
import { freePort } from '../support/ports.ts';
import { awsEnvironment, hasS3Server, type S3Server, startS3Server } from '../support/s3.ts';

const BASE_URL = 'https://cdn.example.org/avatars';
const DATABASE_ID = 'database';

beforeEach(() => {
  for (const [name, value] of Object.entries(awsEnvironment)) vi.stubEnv(name, value);
});
afterEach(() => void vi.unstubAllEnvs());

const failOnUnavailable = (error: Error) => {
  throw error;
};

describe.skipIf(!hasS3Server)('openAvatarBucket with an S3 server', () => {
  let server: S3Server;
  let bucket: string;
  let store: AvatarStore;
  beforeAll(async () => {
    server = await startS3Server();
  });
  afterAll(() => server?.[Symbol.asyncDispose]());
  beforeEach(async () => {
    bucket = (await server.createBucket()).AVATARS_BUCKET;
    store = await open();
  });

  const open = (name = bucket, databaseId = DATABASE_ID) =>
    openAvatarBucket({ name, endpoint: server.url }, databaseId, BASE_URL, failOnUnavailable);

  async function put(content = 'avatar'): Promise<string> {
    const name = newAvatarName();
    await store.put(name, Buffer.from(content));
    return name;
  }

  async function read(name: string): Promise<string | undefined> {
    if (!('read' in store.source)) throw new Error('The store is a folder.');
    return (await store.source.read(name))?.bytes.toString();
  }

  test('stores an avatar with the headers that a CDN needs', async () => {
    const name = await put('avatar');
    expect(await read(name)).toBe('avatar');
    const head = await server.client.send(new HeadObjectCommand({ Bucket: bucket, Key: name }));
    expect(head.ContentType).toBe('image/webp');
    expect(head.CacheControl).toBe('public, max-age=31536000, immutable');
  });

  test('removes an avatar, and changes nothing the second time', async () => {
    const [removed, kept] = [await put(), await put()];
    await store.remove(removed);
    await store.remove(removed);
    expect(await server.listKeys(bucket)).toEqual([kept, DEFAULT_AVATAR_NAME].sort());
    expect(await read(removed)).toBeUndefined();
  });

  test.each(['', DEFAULT_AVATAR_NAME, '../secret.webp', 'AAAAAAAAAA/AAAAAAAAAAA.webp'])(
    'rejects the invalid name %j',
    async (name) => {
      await expect(read(name)).rejects.toThrow(RangeError);
      await expect(store.remove(name)).rejects.toThrow(RangeError);
      await expect(store.put(name, Buffer.from('x'))).rejects.toThrow(RangeError);
      expect(await server.listKeys(bucket)).toEqual([DEFAULT_AVATAR_NAME]);
    },
  );

  test('contains the default avatar, and replaces one of another version', async () => {
    const key = { Bucket: bucket, Key: DEFAULT_AVATAR_NAME };
    const readDefault = async () => {
      const { Body, CacheControl } = await server.client.send(new GetObjectCommand(key));
      return { bytes: Buffer.from((await Body?.transformToByteArray()) ?? []), CacheControl };
    };
    const expected = {
      bytes: await readFile(DEFAULT_AVATAR_FILE),
      CacheControl: 'public, max-age=86400',
    };
    expect(await readDefault()).toEqual(expected);
    await server.client.send(new PutObjectCommand({ ...key, Body: 'another' }));
    await open();
    expect(await readDefault()).toEqual(expected);
  });

  test('deletes only old avatars that are unused, and no other objects', async () => {
    const [unused, used] = [await put(), await put()];
    await server.client.send(new PutObjectCommand({ Bucket: bucket, Key: 'notes', Body: 'x' }));
    const all = await server.listKeys(bucket);
    const findUsed = async (names: string[]) => new Set(names.filter((each) => each === used));
    await store.removeUnused(findUsed, new AbortController().signal);
    expect(await server.listKeys(bucket)).toEqual(all);
    await server.makeOld(bucket);
    const stopping = new AbortController();
    stopping.abort();
    await store.removeUnused(findUsed, stopping.signal);
    expect(await server.listKeys(bucket)).toEqual(all);
    const recent = await put();
    await store.removeUnused(findUsed, new AbortController().signal);
    expect(await server.listKeys(bucket)).toEqual(
      [...all.filter((each) => each !== unused), recent].sort(),
    );
  });

  test('adopts a bucket without a marker, and refuses one of another database', async () => {
    const key = { Bucket: bucket, Key: MARKER_NAME };
    const { Body } = await server.client.send(new GetObjectCommand(key));
    expect(await Body?.transformToString()).toBe(`${DATABASE_ID}\n`);
    await expect(open(bucket, 'other')).rejects.toThrow(OperatorError);
    await expect(open(bucket, 'other')).rejects.toThrow(
      new RegExp(`^The avatar bucket ${bucket} belongs to another database, [^\\n]+\\.$`),
    );
    await server.client.send(new DeleteObjectCommand(key));
    await open(bucket, 'other');
    await expect(open()).rejects.toThrow('belongs to another database');
  });

  test('lets only one of several databases delete avatars if all adopt a bucket at once', async () => {
    await server.client.send(new DeleteObjectCommand({ Bucket: bucket, Key: MARKER_NAME }));
    const outcomes = await Promise.allSettled(
      ['a', 'b', 'c', 'd', 'e', 'f'].map(async (id) => {
        const other = await open(bucket, id);
        // The conditional write of Versity Gateway is not atomic, so that several can open.
        await sleep(500);
        await other.removeUnused(async () => new Set(), new AbortController().signal);
      }),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  test('deletes nothing and stores nothing once the bucket belongs to another database', async () => {
    const name = await put();
    await server.makeOld(bucket);
    await server.client.send(
      new PutObjectCommand({ Bucket: bucket, Key: MARKER_NAME, Body: 'other' }),
    );
    const sweep = () => store.removeUnused(async () => new Set(), new AbortController().signal);
    await expect(sweep()).rejects.toThrow('belongs to another database');
    await expect(store.remove(name)).rejects.toThrow('belongs to another database');
    expect(await read(name)).toBe('avatar');
    const failure = await put().catch((error: unknown) => error);
    expect(store.isUnavailable(failure)).toBe(true);
    expect(await server.listKeys(bucket)).toEqual([name, DEFAULT_AVATAR_NAME].sort());
  });

  test('examines all pages of the list, as long as the bucket belongs to the database', async () => {
    const names = Array.from({ length: 1_100 }, newAvatarName);
    for (let i = 0; i < names.length; i += 50) {
      await Promise.all(names.slice(i, i + 50).map((name) => store.put(name, Buffer.from('x'))));
    }
    const examined: string[] = [];
    await server.makeOld(bucket);
    await store.removeUnused(async (page) => {
      examined.push(...page);
      return new Set(page);
    }, new AbortController().signal);
    expect(examined.sort()).toEqual(names.sort());

    // The operator gives the bucket to another database during a scan.
    const scan = store.removeUnused(async (page) => {
      const marker = { Bucket: bucket, Key: MARKER_NAME, Body: 'other' };
      await server.client.send(new PutObjectCommand(marker));
      return new Set(page);
    }, new AbortController().signal);
    await expect(scan).rejects.toThrow('belongs to another database');
  });

  test.each<[string, Record<string, string>, string, () => string]>([
    ['the bucket does not exist', {}, 'NoSuchBucket', () => 'missing-bucket'],
    // AWS calls it InvalidAccessKeyId.
    ['the key is unknown', { AWS_ACCESS_KEY_ID: 'unknown' }, 'XAdminUserNotFound', () => bucket],
    ['the secret is wrong', { AWS_SECRET_ACCESS_KEY: 'no' }, 'SignatureDoesNotMatch', () => bucket],
  ])('refuses to open if %s, and says so in one line', async (_, env, reason, name) => {
    for (const [variable, value] of Object.entries(env)) vi.stubEnv(variable, value);
    const error = await open(name()).catch((each: unknown) => each);
    expect(error).toBeInstanceOf(OperatorError);
    expect((error as Error).message).toMatch(
      new RegExp(`^The avatar bucket ${name()} cannot be used: ${reason}: [^\\n]+\\.$`),
    );
  });

  test('recovers as soon as the server responds again', async () => {
    await using other = await startS3Server();
    const { AVATARS_BUCKET } = await other.createBucket();
    const unavailable: Error[] = [];
    await other.kill();
    store = await openAvatarBucket(
      { name: AVATARS_BUCKET, endpoint: other.url },
      DATABASE_ID,
      BASE_URL,
      (error) => unavailable.push(error),
    );
    expect(unavailable.map(({ message }) => message)).toEqual([
      expect.stringContaining('ECONNREFUSED'),
    ]);
    const failure = await put().catch((error: unknown) => error);
    expect(store.isUnavailable(failure)).toBe(true);
    await other.start();
    expect(await read(await put('avatar'))).toBe('avatar');
    // Housekeeping adds what the start could not.
    await store.removeUnused(async () => new Set(), new AbortController().signal);
    const key = { Bucket: AVATARS_BUCKET, Key: DEFAULT_AVATAR_NAME };
    expect((await other.client.send(new HeadObjectCommand(key))).ContentLength).toBeGreaterThan(0);
  });
});

describe('openAvatarBucket', () => {
  test.each(['AWS_REGION', 'AWS_ACCESS_KEY_ID'])('refuses to open without %s', async (name) => {
    vi.stubEnv(name, undefined);
    // So that the SDK looks for them nowhere else.
    vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
    vi.stubEnv('AWS_CONFIG_FILE', '/dev/null');
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', '/dev/null');
    const endpoint = `http://127.0.0.1:${await freePort()}`;
    const location = { name: 'avatars', endpoint };
    const opening = openAvatarBucket(location, DATABASE_ID, BASE_URL, failOnUnavailable);
    await expect(opening).rejects.toThrow(OperatorError);
    await expect(opening).rejects.toThrow(/^The avatar bucket avatars cannot be used: [^\n]+$/);
  });

  const isListing = (url = '') => url.includes('list-type=2');
  const emptyList = '<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>';
  const noSuchKey = '<Error><Code>NoSuchKey</Code><Message>Not found</Message></Error>';
  const openStorage = ({ location }: Awaited<ReturnType<typeof startStorage>>) =>
    openAvatarBucket(location, DATABASE_ID, BASE_URL, failOnUnavailable);

  test.each<[string, RequestListener]>([
    ['accepts connections and never responds', () => {}],
    ['responds with 500', (_, response) => response.writeHead(500).end()],
    ['asks to slow down', (_, response) => response.writeHead(503).end()],
    ['closes connections', (request) => request.socket.destroy()],
  ])('opens, but reads and writes fail within seconds, if the server %s', async (_, respond) => {
    await using storage = await startStorage(respond);
    const unavailable: Error[] = [];
    const store = await openAvatarBucket(storage.location, DATABASE_ID, BASE_URL, (error) =>
      unavailable.push(error),
    );
    expect(unavailable).toHaveLength(1);
    await Promise.all([
      expectUnavailable(store, () => store.put(newAvatarName(), Buffer.from('x'))),
      expectUnavailable(store, () => store.remove(newAvatarName())),
      expectUnavailable(store, () => readAny(store)),
    ]);
  });

  test('a read fails within seconds if the content of an avatar never ends', async () => {
    await using storage = await startStorage(({ url }, response) => {
      if (isListing(url)) response.end(emptyList);
      else if (url?.includes(MARKER_NAME)) response.end(DATABASE_ID);
      else if (url?.includes(DEFAULT_AVATAR_NAME)) response.end('default');
      else response.writeHead(200, { 'content-length': '100' }).write('RIFF');
    });
    const store = await openStorage(storage);
    await expectUnavailable(store, () => readAny(store));
  });

  test('opens on a server without conditional writes', async () => {
    let marker: string | undefined;
    await using storage = await startStorage(async (request, response) => {
      const { method, url, headers } = request;
      const body = await text(request);
      const isMarker = url?.includes(MARKER_NAME) === true;
      if (headers['if-none-match']) response.statusCode = 501;
      else if (isMarker && method === 'PUT') marker = body;
      else if (isMarker && marker === undefined) response.writeHead(404).write(noSuchKey);
      else response.write(isListing(url) ? emptyList : (marker ?? 'default'));
      response.end();
    });
    await openStorage(storage);
    expect(marker).toBe(`${DATABASE_ID}\n`);
  });

  test('refuses to open a bucket that does not keep its marker, and says so', async () => {
    await using storage = await startStorage(async (request, response) => {
      await text(request);
      if (isListing(request.url)) response.end(emptyList);
      else if (request.method === 'PUT') response.end();
      else response.writeHead(404).end(noSuchKey);
    });
    const opening = openStorage(storage);
    await expect(opening).rejects.toThrow(OperatorError);
    await expect(opening).rejects.toThrow(`does not keep the object ${MARKER_NAME}`);
  });

  test('refuses to open if the server is not an S3 server', async () => {
    await using storage = await startStorage((_, response) => response.end('It works!'));
    await expect(openStorage(storage)).rejects.toThrow(OperatorError);
  });
});

async function readAny(store: AvatarStore): Promise<unknown> {
  if (!('read' in store.source)) throw new Error('The store is a folder.');
  return store.source.read(newAvatarName());
}

async function expectUnavailable(store: AvatarStore, work: () => Promise<unknown>): Promise<void> {
  const startedAt = performance.now();
  const error = await work().catch((each: unknown) => each);
  expect(store.isUnavailable(error)).toBe(true);
  expect(performance.now() - startedAt).toBeLessThan(8_000);
}

async function startStorage(respond: RequestListener) {
  const server = await startHttpServer(respond);
  return { ...server, location: { name: 'avatars', endpoint: server.url } };
}
