import { randomBytes } from 'node:crypto';
import { readdir, rename } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import { startApp, type TestApp, type TestUser } from '../support/app.ts';
import { head, openRaw, validateRaw } from '../support/raw.ts';

const MAX_BYTES = 5_242_880;
const MiB = 1024 * 1024;
const PATH = '/api/profile/picture';

let app: TestApp;
let user: TestUser;
let jpeg: Buffer<ArrayBuffer>;

beforeAll(async () => {
  app = await startApp();
  jpeg = await plain(60, 40).jpeg().toBuffer();
});
afterAll(() => app[Symbol.asyncDispose]());
beforeEach(async () => {
  user = await app.register();
});

const upload = (bytes: Buffer<ArrayBuffer> | string, type = 'image/jpeg') =>
  api.changeProfilePicture({
    client: user.client,
    body: { avatar: new File([bytes], 'picture', { type }) },
  });

/** The URL of the caller's avatar. */
const avatarUrl = async () =>
  (await api.getProfile({ client: user.client, throwOnError: true })).data.profile_picture;

/** The files in the avatar folder, without the default avatar, once those to be removed are gone. */
const files = async () => {
  await app.context.housekeeping.run();
  const names = await readdir(join(app.context.config.dataDir, 'avatars'));
  return names.filter((name) => name !== 'default.webp');
};

const download = async (url: string) => {
  const response = await app.fetch(new URL(url).pathname);
  return {
    status: response.status,
    headers: response.headers,
    bytes: Buffer.from(await response.arrayBuffer()),
  };
};

const defaultAvatar = () => `${app.url}/avatars/default.webp`;

describe('A new avatar', () => {
  test('shows everywhere at once', async () => {
    const { client } = user;
    const { space_id } = (
      await api.createSpace({
        client,
        body: { title: 'Portraits', description: '', visibility: 'public', tags: ['portrait'] },
        throwOnError: true,
      })
    ).data;
    await api.sendMessage({ client, body: { space_id, text: 'Look!' }, throwOnError: true });

    const { data, response } = await upload(jpeg);
    expect(response?.status).toBe(200);
    const avatar = { profile_picture: data?.profile_picture };
    expect(data).toEqual(avatar);

    expect(await avatarUrl()).toBe(data?.profile_picture);
    const others = app.client();
    const path = { user_id: user.userId };
    expect((await api.getUser({ client, path })).data).toMatchObject(avatar);
    const space = await api.getSpace({ client: others, path: { space_id } });
    expect(space.data?.creator).toMatchObject(avatar);
    const messages = await api.listMessages({ client: others, query: { space_id } });
    expect(messages.data?.[0]?.author).toMatchObject(avatar);
    const byText = await api.searchSpaces({ client: others, query: { q: 'portraits' } });
    expect(byText.data?.[0]?.creator).toMatchObject(avatar);
    const byTag = await api.searchSpacesByTag({ client: others, path: { tag: 'portrait' } });
    expect(byTag.data?.[0]?.creator).toMatchObject(avatar);
  });

  test('is a square WebP at an address that nobody guesses, for all sites and for good', async () => {
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

  test('takes the place of the old one, whose file is gone', async () => {
    const before = await files();
    const first = (await upload(jpeg)).data?.profile_picture ?? '';
    const second = (await upload(jpeg)).data?.profile_picture ?? '';
    expect(second).not.toBe(first);
    await expect.poll(async () => (await download(first)).status).toBe(404);
    expect((await download(second)).status).toBe(200);
    expect(await files()).toHaveLength(before.length + 1);
  });

  test.each(['jpeg', 'png', 'webp', 'gif'] as const)(
    'may be a %s, whatever its name and declared type',
    async (format) => {
      const { response } = await upload(await plain(9, 9).toFormat(format).toBuffer(), 'text/html');
      expect(response?.status).toBe(200);
    },
  );

  test('is upright and tells nothing of where it was taken', async () => {
    // As a camera held upright stores it: red is at the top once it is turned clockwise.
    const photo = await sharp({
      create: { width: 60, height: 40, channels: 3, background: '#2040e0' },
    })
      .composite([{ input: await plain(30, 40, '#e02020').png().toBuffer(), left: 0, top: 0 }])
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
    const at = (x: number, y: number) =>
      [...pixels.subarray((y * info.width + x) * info.channels)].slice(0, 3);
    const isRed = ([red = 0, , blue = 0]: number[]) => red > 150 && blue < 100;
    expect([at(256, 32), at(32, 128), at(256, 480), at(480, 384)].map(isRed)).toEqual([
      ...[true, true],
      ...[false, false],
    ]);
  });

  test('has at most 5,242,880 bytes', async () => {
    const largest = Buffer.concat([jpeg, Buffer.alloc(MAX_BYTES - jpeg.length)]);
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
    ['a text', () => 'This is no picture.'],
    ['a TIFF', () => plain(9, 9).tiff().toBuffer()],
    ['an AVIF', () => plain(9, 9).avif().toBuffer()],
    ['a bitmap', () => Buffer.from('BM\x36\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0', 'latin1')],
  ])('is not %s, even if it says so', async (_, bytes) => {
    expect((await upload(await bytes(), 'image/jpeg')).error).toMatchObject({
      status: 415,
      code: 'avatar_type_unsupported',
      errors: [{ pointer: '/avatar' }],
    });
  });

  test('is neither damaged nor larger than 64 megapixels', async () => {
    const refusals = [
      { bytes: jpeg.subarray(0, jpeg.length / 2), detail: 'could not be decoded' },
      { bytes: await plain(8000, 8001).png().toBuffer(), detail: '8000 x 8001 pixels' },
    ];
    for (const { bytes, detail } of refusals) {
      expect((await upload(bytes)).error).toMatchObject({
        status: 422,
        code: 'avatar_undecodable',
        detail: expect.stringContaining(detail),
        errors: [{ pointer: '/avatar' }],
      });
    }
  });

  test('is judged by its size, then its type, then its content', async () => {
    const tooLarge = await upload('no picture'.padEnd(MAX_BYTES + 1));
    expect(tooLarge.error).toMatchObject({ status: 413 });
    expect((await upload('no picture')).error).toMatchObject({ status: 415 });
    expect((await upload(jpeg.subarray(0, 20))).error).toMatchObject({ status: 422 });
  });

  test('that is refused leaves the old one and no file', async () => {
    const { data } = await upload(jpeg);
    const before = await files();
    await upload('no picture');
    await upload(jpeg.subarray(0, 100));
    await upload(Buffer.alloc(MAX_BYTES + 1));
    expect(await avatarUrl()).toBe(data?.profile_picture);
    expect(await files()).toEqual(before);
  });

  test('is the last of several that come at once, and the others leave no file', async () => {
    const before = await files();
    const answers = await Promise.all(Array.from({ length: 6 }, () => upload(jpeg)));
    const urls = answers.map(({ data }) => data?.profile_picture);
    expect(new Set(urls).size).toBe(6);
    expect(urls).toContain(await avatarUrl());
    expect(await files()).toHaveLength(before.length + 1);
    expect((await download(await avatarUrl())).status).toBe(200);
  });
});

describe('The form', () => {
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

  test('that is well-formed is taken', async () => {
    expect((await send(formType, form(avatar()))).status).toBe(200);
  });

  test.each<[string, string | undefined]>([
    ['JSON', 'application/json'],
    ['the picture itself', 'image/jpeg'],
    ['a form of another type', 'application/x-www-form-urlencoded'],
    ['of no type', ''],
  ])('is multipart/form-data: %s gets 415', async (_, type) => {
    const { status, problem } = await send(type, form(avatar()));
    expect(problem).toMatchObject({ status: 415, code: 'unsupported_media_type' });
    expect(status).toBe(415);
  });

  test.each<[string, string, () => Buffer<ArrayBuffer> | undefined, string]>([
    ['no body', formType, () => undefined, 'invalid_request'],
    ['no boundary', 'multipart/form-data', () => form(avatar()), 'invalid_request'],
    ['another boundary', `${formType}s`, () => form(avatar()), 'invalid_request'],
    ['garbage', formType, () => Buffer.alloc(5000, 0xa5), 'invalid_request'],
    ['its end missing', formType, () => form(avatar()).subarray(0, -10), 'invalid_request'],
    ['half a file', formType, () => avatar().subarray(0, 150), 'invalid_request'],
    ['no part', formType, () => form(), 'avatar_missing'],
    ['a text for a file', formType, () => form(part('name="avatar"', 'text')), 'avatar_missing'],
    ['the wrong name', formType, () => form(part('name="a"; filename="a"', 'x')), 'avatar_missing'],
    ['no byte', formType, () => form(part('name="avatar"; filename="a"', '')), 'avatar_missing'],
    ['a second file', formType, () => form(avatar(), avatar()), 'avatar_missing'],
    ['a field besides', formType, () => form(avatar(), part('name="b"', 'x')), 'avatar_missing'],
  ])('with %s gets 400', async (_, type, body, code) => {
    const { status, problem } = await send(type, body());
    expect(problem).toMatchObject({ status: 400, code });
    expect(status).toBe(400);
    expect(await avatarUrl()).toBe(defaultAvatar());
  });

  test('of a stranger is refused before it has arrived, and its rest cut off', async () => {
    const { status, sent } = await flood({ 'content-type': formType });
    expect(status).toBe(401);
    expect(sent).toBeLessThan(40 * MiB);
  });

  test('that cannot but be too large is refused before it has arrived', async () => {
    const headers = { ...user.headers, 'content-type': formType };
    const { status, sent } = await flood(headers);
    expect(status).toBe(413);
    expect(sent).toBeLessThan(40 * MiB);
  });

  test('that breaks off leaves nothing behind', async () => {
    const before = await files();
    await abandon(form(part('name="avatar"; filename="a.jpg"', randomBytes(MiB))));
    expect(await avatarUrl()).toBe(defaultAvatar());
    expect(await files()).toEqual(before);
    const { db } = app.context.engine;
    expect(await db.selectFrom('discarded_avatars').selectAll().execute()).toEqual([]);
  });

  /** Announces 60 MiB and sends until the connection is cut. Answers with the status and how much went. */
  async function flood(headers: Record<string, string>): Promise<{ status: number; sent: number }> {
    const length = 60 * MiB;
    const chunk = Buffer.alloc(64 * 1024);
    using connection = await openRaw(app.url);
    await connection.write(head('PUT', PATH, { ...headers, 'content-length': length }));
    let sent = 0;
    for (; sent < length && !connection.socket.destroyed; sent += chunk.length) {
      await connection.write(chunk);
    }
    const { status } = validateRaw('PUT', app.url + PATH, await connection.answer());
    return { status, sent };
  }

  /** Sends a little more than half of the body, and leaves. Resolves once the server has noticed. */
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

describe('Removing the avatar', () => {
  test('goes back to the default one, and removes the file', async () => {
    const before = await files();
    const { data } = await upload(jpeg);
    const removed = await api.removeProfilePicture({ client: user.client });
    expect(removed.response?.status).toBe(200);
    expect(removed.data).toEqual({ profile_picture: defaultAvatar() });
    expect(await avatarUrl()).toBe(defaultAvatar());
    expect((await download(data?.profile_picture ?? '')).status).toBe(404);
    expect(await files()).toEqual(before);
  });

  test('that is not there changes nothing', async () => {
    const before = await api.getProfile({ client: user.client });
    for (const type of ['application/json', 'multipart/form-data', undefined]) {
      const response = await app.fetch(PATH, {
        method: 'DELETE',
        headers: { ...user.headers, ...(type && { 'content-type': type }) },
      });
      expect(response.status).toBe(200);
      expect(await response.json()).toEqual({ profile_picture: defaultAvatar() });
    }
    expect((await api.getProfile({ client: user.client })).data).toEqual(before.data);
  });

  test('leaves the default one for everyone', async () => {
    const { status, headers, bytes } = await download(defaultAvatar());
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('image/webp');
    expect(headers.get('cross-origin-resource-policy')).toBe('cross-origin');
    expect(await sharp(bytes).metadata()).toMatchObject({ format: 'webp', width: 512 });
  });
});

function plain(width: number, height: number, background = '#30a060') {
  return sharp({ create: { width, height, channels: 3, background } });
}

test('An avatar that cannot be stored is answered 503, and the one before stays', async () => {
  const before = await avatarUrl();
  const folder = join(app.context.config.dataDir, 'avatars');
  await rename(folder, `${folder}-gone`);
  try {
    const { response, error } = await upload(jpeg);
    expect(response?.status).toBe(503);
    expect(error).toMatchObject({ code: 'unavailable' });
  } finally {
    await rename(`${folder}-gone`, folder);
  }
  expect(await avatarUrl()).toBe(before);
  expect((await upload(jpeg)).response?.status).toBe(200);
});
