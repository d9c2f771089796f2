import { rename } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import sharp from 'sharp';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import { listAvatarFiles } from '../support/avatar.ts';
import type { TestUser } from '../support/client.ts';
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
