import { rename } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import sharp from 'sharp';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import { listAvatarFiles } from '../support/avatar.ts';
import type { TestUser } from '../support/client.ts';
import { head, openRaw, validateRaw } from '../support/raw.ts';
import { createSpace, sendMessage } from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';

const MAX_AVATAR_BYTES = 5_242_880;
const MEBIBYTE = 1024 * 1024;
const PATH = '/api/profile/picture';

const app = useApp();
let user: TestUser;
let jpeg: Buffer<ArrayBuffer>;

beforeAll(async () => {
  jpeg = await createImage(60, 40).jpeg().toBuffer();
});
beforeEach(async () => {
  user = await app.register();
});

const upload = (bytes: Buffer<ArrayBuffer> | string, type = 'image/jpeg') =>
  api.changeProfilePicture({
    client: user.client,
    body: { avatar: new File([bytes], 'avatar', { type }) },
  });

const getAvatarUrl = async () =>
  (await api.getProfile({ client: user.client, throwOnError: true })).data.profile_picture;

const download = async (url: string) => {
  const response = await app.fetch(new URL(url).pathname);
  return {
    status: response.status,
    headers: response.headers,
    bytes: Buffer.from(await response.arrayBuffer()),
  };
};

const defaultAvatarUrl = () => `${app.url}/avatars/default.webp`;

describe('changeProfilePicture', () => {
  test('changes the avatar in every response immediately', async () => {
    const { client } = user;
    const { space_id } = await createSpace(user, { title: 'Portraits', tags: ['portrait'] });
    await sendMessage(user, { space_id }, 'Look!');

    const { data, response } = await upload(jpeg);
    expect(response?.status).toBe(200);
    const avatar = { profile_picture: data?.profile_picture };
    expect(data).toEqual(avatar);

    expect(await getAvatarUrl()).toBe(data?.profile_picture);
    const others = app.client();
    const path = { user_id: user.userId };
    expect((await api.getUser({ client, path })).data).toMatchObject(avatar);
    const space = await api.getSpace({ client: others, path: { space_id } });
    expect(space.data?.creator).toMatchObject(avatar);
    const messages = await api.listMessages({ client: others, query: { space_id } });
    expect(messages.data?.items[0]?.author).toMatchObject(avatar);
    const byText = await api.searchSpaces({ client: others, query: { q: 'portraits' } });
    expect(byText.data?.[0]?.creator).toMatchObject(avatar);
    const byTag = await api.searchSpacesByTag({ client: others, path: { tag: 'portrait' } });
    expect(byTag.data?.[0]?.creator).toMatchObject(avatar);
  });

  test('serves a square WebP at an unguessable, immutable URL that other sites may embed', async () => {
    const { data } = await upload(jpeg);
    expect(data?.profile_picture).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/avatars\/[\w-]{22}\.webp$/);
    const { status, headers, bytes } = await download(data?.profile_picture ?? '');
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('image/webp');
    expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(headers.get('cross-origin-resource-policy')).toBe('cross-origin');
    expect(await sharp(bytes).metadata()).toMatchObject({
      format: 'webp',
      width: 512,
      height: 512,
    });
  });

  test('deletes the file of the previous avatar', async () => {
    const before = await listAvatarFiles(app);
    const first = (await upload(jpeg)).data?.profile_picture ?? '';
    const second = (await upload(jpeg)).data?.profile_picture ?? '';
    expect(second).not.toBe(first);
    await expect.poll(async () => (await download(first)).status).toBe(404);
    expect((await download(second)).status).toBe(200);
    expect(await listAvatarFiles(app)).toHaveLength(before.length + 1);
  });

  test.each(['jpeg', 'png', 'webp', 'gif'] as const)(
    'accepts a %s that is declared as HTML and has a file name without an extension',
    async (format) => {
      const { response } = await upload(
        await createImage(9, 9).toFormat(format).toBuffer(),
        'text/html',
      );
      expect(response?.status).toBe(200);
    },
  );

  test('rotates the avatar upright and removes its metadata', async () => {
    // EXIF orientation 6: the red left half is at the top after rotation.
    const photo = await sharp({
      create: { width: 60, height: 40, channels: 3, background: '#2040e0' },
    })
      .composite([
        { input: await createImage(30, 40, '#e02020').png().toBuffer(), left: 0, top: 0 },
      ])
      .jpeg({ quality: 95 })
      .withMetadata({ orientation: 6 })
      .withExifMerge({ IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '51/1 30/1 3230/100' } })
      .toBuffer();
    expect((await sharp(photo).metadata()).exif).toBeDefined();

    const { data } = await upload(photo);
    const { bytes } = await download(data?.profile_picture ?? '');
    const metadata = await sharp(bytes).metadata();
    expect(metadata).not.toHaveProperty('exif');
    expect(metadata).not.toHaveProperty('orientation');
    const { data: pixels, info } = await sharp(bytes).raw().toBuffer({ resolveWithObject: true });
    const pixelAt = (x: number, y: number) =>
      [...pixels.subarray((y * info.width + x) * info.channels)].slice(0, 3);
    const isRed = ([red = 0, , blue = 0]: number[]) => red > 150 && blue < 100;
    expect([pixelAt(256, 32), pixelAt(32, 128)].map(isRed)).toEqual([true, true]);
    expect([pixelAt(256, 480), pixelAt(480, 384)].map(isRed)).toEqual([false, false]);
  });

  test('accepts 5,242,880 bytes and rejects one more', async () => {
    const largest = Buffer.concat([jpeg, Buffer.alloc(MAX_AVATAR_BYTES - jpeg.length)]);
    expect((await upload(largest)).response?.status).toBe(200);
    const { error } = await upload(Buffer.concat([largest, Buffer.alloc(1)]));
    expect(error).toMatchObject({
      status: 413,
      code: 'avatar_too_large',
      detail: expect.stringContaining('5,242,880'),
      errors: [{ pointer: '/avatar' }],
    });
  });

  test.each<[string, () => Buffer<ArrayBuffer> | string | Promise<Buffer<ArrayBuffer>>]>([
    ['an SVG', () => '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'],
    ['plain text', () => 'This is not an image.'],
    ['a TIFF', () => createImage(9, 9).tiff().toBuffer()],
    ['an AVIF', () => createImage(9, 9).avif().toBuffer()],
    ['a bitmap', () => Buffer.from('BM\x36\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0', 'latin1')],
  ])('rejects %s that is declared as a JPEG', async (_, bytes) => {
    expect((await upload(await bytes(), 'image/jpeg')).error).toMatchObject({
      status: 415,
      code: 'avatar_type_unsupported',
      errors: [{ pointer: '/avatar' }],
    });
  });

  test('rejects damaged files and images larger than 64 megapixels', async () => {
    const undecodable = [
      { bytes: jpeg.subarray(0, jpeg.length / 2), detail: 'could not be decoded' },
      { bytes: await createImage(8000, 8001).png().toBuffer(), detail: '8000 x 8001 pixels' },
    ];
    for (const { bytes, detail } of undecodable) {
      expect((await upload(bytes)).error).toMatchObject({
        status: 422,
        code: 'avatar_undecodable',
        detail: expect.stringContaining(detail),
        errors: [{ pointer: '/avatar' }],
      });
    }
  });

  test('checks the size, then the type, then the content', async () => {
    const tooLarge = await upload('not an image'.padEnd(MAX_AVATAR_BYTES + 1));
    expect(tooLarge.error).toMatchObject({ status: 413 });
    expect((await upload('not an image')).error).toMatchObject({ status: 415 });
    expect((await upload(jpeg.subarray(0, 20))).error).toMatchObject({ status: 422 });
  });

  test('keeps the previous avatar and stores no file if the upload is rejected', async () => {
    const { data } = await upload(jpeg);
    const before = await listAvatarFiles(app);
    await upload('not an image');
    await upload(jpeg.subarray(0, 100));
    await upload(Buffer.alloc(MAX_AVATAR_BYTES + 1));
    expect(await getAvatarUrl()).toBe(data?.profile_picture);
    expect(await listAvatarFiles(app)).toEqual(before);
  });

  test('keeps one of several concurrent uploads and deletes the files of the others', async () => {
    const before = await listAvatarFiles(app);
    const responses = await Promise.all(Array.from({ length: 6 }, () => upload(jpeg)));
    const urls = responses.map(({ data }) => data?.profile_picture);
    expect(new Set(urls).size).toBe(6);
    expect(urls).toContain(await getAvatarUrl());
    expect(await listAvatarFiles(app)).toHaveLength(before.length + 1);
    expect((await download(await getAvatarUrl())).status).toBe(200);
  });
});

describe('the form of changeProfilePicture', () => {
  const boundary = 'a-boundary';
  const formType = `multipart/form-data; boundary=${boundary}`;
  const part = (disposition: string, content: string | Buffer) =>
    Buffer.concat([
      Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n`),
      Buffer.from(content),
      Buffer.from('\r\n'),
    ]);
  const form = (...parts: Buffer[]) =>
    Buffer.concat([...parts, Buffer.from(`--${boundary}--\r\n`)]);
  const avatar = () => part('name="avatar"; filename="a.jpg"', jpeg);

  const send = async (type: string | undefined, body?: BodyInit) => {
    const headers = { ...user.headers, ...(type !== undefined && { 'content-type': type }) };
    const response = await app.fetch(PATH, { method: 'PUT', headers, ...(body && { body }) });
    return { status: response.status, problem: await response.json() };
  };

  test('is accepted if it is well-formed', async () => {
    expect((await send(formType, form(avatar()))).status).toBe(200);
  });

  test.each<[string, string | undefined]>([
    ['JSON', 'application/json'],
    ['image/jpeg', 'image/jpeg'],
    ['a URL-encoded form', 'application/x-www-form-urlencoded'],
    ['an empty type', ''],
  ])('must be multipart/form-data: %s gets 415', async (_, type) => {
    const { status, problem } = await send(type, form(avatar()));
    expect(problem).toMatchObject({ status: 415, code: 'unsupported_media_type' });
    expect(status).toBe(415);
  });

  test.each<[string, string, () => Buffer<ArrayBuffer> | undefined, string]>([
    ['no body', formType, () => undefined, 'invalid_request'],
    ['no boundary', 'multipart/form-data', () => form(avatar()), 'invalid_request'],
    ['another boundary', `${formType}s`, () => form(avatar()), 'invalid_request'],
    ['garbage', formType, () => Buffer.alloc(5000, 0xa5), 'invalid_request'],
    ['no final boundary', formType, () => form(avatar()).subarray(0, -10), 'invalid_request'],
    ['half a file', formType, () => avatar().subarray(0, 150), 'invalid_request'],
    ['no parts', formType, () => form(), 'avatar_missing'],
    [
      'text instead of a file',
      formType,
      () => form(part('name="avatar"', 'text')),
      'avatar_missing',
    ],
    [
      'the wrong field name',
      formType,
      () => form(part('name="a"; filename="a"', 'x')),
      'avatar_missing',
    ],
    [
      'an empty file',
      formType,
      () => form(part('name="avatar"; filename="a"', '')),
      'avatar_missing',
    ],
    ['a second file', formType, () => form(avatar(), avatar()), 'avatar_missing'],
    ['another field', formType, () => form(avatar(), part('name="b"', 'x')), 'avatar_missing'],
  ])('is rejected with 400 if it has %s', async (_, type, body, code) => {
    const { status, problem } = await send(type, body());
    expect(problem).toMatchObject({ status: 400, code });
    expect(status).toBe(400);
    expect(await getAvatarUrl()).toBe(defaultAvatarUrl());
  });

  test('is rejected without reading all of it if the token is missing', async () => {
    const { status, sent } = await flood({ 'content-type': formType });
    expect(status).toBe(401);
    expect(sent).toBeLessThan(40 * MEBIBYTE);
  });

  test('is rejected without reading all of it if Content-Length is too large', async () => {
    const headers = { ...user.headers, 'content-type': formType };
    const { status, sent } = await flood(headers);
    expect(status).toBe(413);
    expect(sent).toBeLessThan(40 * MEBIBYTE);
  });

  test('leaves no data if the connection closes early', async () => {
    const before = await listAvatarFiles(app);
    // Half of it contains the whole image, so that an incomplete upload could be stored.
    const padded = Buffer.concat([jpeg, Buffer.alloc(MEBIBYTE)]);
    await abandon(form(part('name="avatar"; filename="a.jpg"', padded)));
    // Longer than it takes to store an avatar.
    await sleep(500);
    expect(await getAvatarUrl()).toBe(defaultAvatarUrl());
    expect(await listAvatarFiles(app)).toEqual(before);
    const { db } = app.context.engine;
    expect(await db.selectFrom('discarded_avatars').selectAll().execute()).toEqual([]);
  });

  /** Sends up to 60 MiB, until the server closes the connection. Returns the status and the bytes sent. */
  async function flood(headers: Record<string, string>): Promise<{ status: number; sent: number }> {
    const length = 60 * MEBIBYTE;
    const chunk = Buffer.alloc(64 * 1024);
    using connection = await openRaw(app.url);
    await connection.write(head('PUT', PATH, { ...headers, 'content-length': length }));
    let sent = 0;
    for (; sent < length && !connection.socket.destroyed; sent += chunk.length) {
      await connection.write(chunk);
    }
    const { status } = validateRaw('PUT', app.url + PATH, await connection.readResponse());
    return { status, sent };
  }

  /** Sends half of the body and disconnects. Resolves when the server has noticed. */
  function abandon(body: Buffer): Promise<void> {
    const noticed = new Promise<void>((resolve) => {
      app.app.server.once('request', (request) =>
        request.once('close', () => setImmediate(resolve)),
      );
    });
    const outgoing = httpRequest(app.url + PATH, {
      method: 'PUT',
      headers: { ...user.headers, 'content-type': formType, 'content-length': body.length },
    });
    outgoing.on('error', () => {});
    outgoing.write(body.subarray(0, body.length / 2 + 1), () => outgoing.destroy());
    return noticed;
  }
});

describe('removeProfilePicture', () => {
  test('restores the default avatar and deletes the file', async () => {
    const before = await listAvatarFiles(app);
    const { data } = await upload(jpeg);
    const removed = await api.removeProfilePicture({ client: user.client });
    expect(removed.response?.status).toBe(200);
    expect(removed.data).toEqual({ profile_picture: defaultAvatarUrl() });
    expect(await getAvatarUrl()).toBe(defaultAvatarUrl());
    expect((await download(data?.profile_picture ?? '')).status).toBe(404);
    expect(await listAvatarFiles(app)).toEqual(before);
  });

  test('succeeds for each of several concurrent requests', async () => {
    const { client } = user;
    for (let round = 1; round <= 5; round += 1) {
      expect((await upload(jpeg)).response?.status).toBe(200);
      const requests = Array.from({ length: 4 }, () => api.removeProfilePicture({ client }));
      const statuses = (await Promise.all(requests)).map(({ response }) => response?.status);
      expect(statuses).toEqual([200, 200, 200, 200]);
    }
    expect(await getAvatarUrl()).toBe(defaultAvatarUrl());
  });

  test('changes nothing without an avatar', async () => {
    const before = await api.getProfile({ client: user.client });
    for (const type of ['application/json', 'multipart/form-data', undefined]) {
      const response = await app.fetch(PATH, {
        method: 'DELETE',
        headers: { ...user.headers, ...(type && { 'content-type': type }) },
      });
      expect(response.status).toBe(200);
      expect(await response.json()).toEqual({ profile_picture: defaultAvatarUrl() });
    }
    expect((await api.getProfile({ client: user.client })).data).toEqual(before.data);
  });

  test('does not affect the file of the default avatar', async () => {
    await api.removeProfilePicture({ client: user.client, throwOnError: true });
    await app.context.housekeeping.run();
    const { status, headers, bytes } = await download(defaultAvatarUrl());
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('image/webp');
    expect(headers.get('cross-origin-resource-policy')).toBe('cross-origin');
    expect(await sharp(bytes).metadata()).toMatchObject({ format: 'webp', width: 512 });
  });
});

// This test is last, because the failed upload leaves a row in discarded_avatars that would affect other tests.
describe('changeProfilePicture without its avatar folder', () => {
  test('returns 503 and keeps the previous avatar if the new one cannot be stored', async () => {
    await upload(jpeg);
    const before = await getAvatarUrl();
    const folder = join(app.context.config.dataDir, 'avatars');
    await rename(folder, `${folder}-gone`);
    try {
      const { response, error } = await upload(jpeg);
      expect(response?.status).toBe(503);
      expect(error).toMatchObject({ code: 'unavailable' });
    } finally {
      await rename(`${folder}-gone`, folder);
    }
    expect(await getAvatarUrl()).toBe(before);
    expect((await upload(jpeg)).response?.status).toBe(200);
  });
});

function createImage(width: number, height: number, background = '#30a060') {
  return sharp({ create: { width, height, channels: 3, background } });
}
