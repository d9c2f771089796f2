import { beforeEach, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { Space, SpaceUpdate } from '../../generated/types.gen.ts';
import { startApp } from '../support/app.ts';
import { uploadAvatar } from '../support/avatar.ts';
import type { TestUser } from '../support/client.ts';
import { getError } from '../support/errors.ts';
import { createSpace, joinSpace, leaveSpace, spaceCreation } from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';

const app = useApp();

/** Creates the space. */
let ann: TestUser;
let ben: TestUser;
let space: Space;
beforeEach(async () => {
  ann = await app.register();
  ben = await app.register();
  space = await createSpace(ann, { title: 'Tea', tags: ['green'] });
});

const get = (headers: Record<string, string> = {}) =>
  app.fetch(`/api/spaces/${space.space_id}`, { headers });

const etagOf = async ({ headers }: { headers?: Record<string, string> } = {}) =>
  (await get(headers)).headers.get('etag') ?? '';

const update = ({ client }: TestUser, body: SpaceUpdate, ifMatch: string) =>
  api.updateSpace({
    client,
    path: { space_id: space.space_id },
    headers: { 'If-Match': ifMatch },
    body,
  });

const updateFreely = async (body: SpaceUpdate) => {
  const path = { space_id: space.space_id };
  return api.updateSpace({ client: ann.client, path, body, throwOnError: true });
};

describe('getSpace with If-None-Match', () => {
  test('returns 304 without a body if nothing has changed', async () => {
    const etag = await etagOf(ann);
    for (const value of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const response = await get({ ...ann.headers, 'if-none-match': value });
      expect(response.status).toBe(304);
      expect(response.headers.get('etag')).toBe(etag);
      expect(response.headers.get('content-type')).toBeNull();
      expect(await response.text()).toBe('');
    }
  });

  test('returns the space if the ETag is another one or malformed', async () => {
    for (const value of ['"other"', 'other', '', ',']) {
      const response = await get({ 'if-none-match': value });
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({ space_id: space.space_id });
    }
  });

  test('returns 404 for a space that the caller cannot see', async () => {
    const etag = await etagOf();
    await updateFreely({ visibility: 'private' });
    expect((await get({ 'if-none-match': etag })).status).toBe(404);
    expect((await get({ 'if-none-match': '*' })).status).toBe(404);
  });

  const changes: [string, () => Promise<unknown>][] = [
    ['its title', () => updateFreely({ title: 'Coffee' })],
    ['its description', () => updateFreely({ description: 'Black' })],
    ['its tags', () => updateFreely({ tags: ['black'] })],
    ['the spelling of its tags', () => updateFreely({ tags: ['Green'] })],
    ['its number of participants', () => joinSpace(ben, space)],
    [
      'the username of its creator',
      () => api.changeUsername({ client: ann.client, body: { username: `x${ann.username}` } }),
    ],
    ['the avatar of its creator', () => uploadAvatar(ann)],
  ];
  test.each(changes)('returns the space after a change of %s', async (_name, change) => {
    const [etag, before] = [await etagOf(), await (await get()).text()];
    await change();
    const response = await get({ 'if-none-match': etag });
    expect(response.status).toBe(200);
    expect(await response.text()).not.toBe(before);
    expect(response.headers.get('etag')).not.toBe(etag);
  });

  test('returns the space after a renewal of its invitation code', async () => {
    await updateFreely({ visibility: 'private' });
    const etag = await etagOf(ann);
    const path = { space_id: space.space_id };
    const { data } = await api.renewInvitationCode({ client: ann.client, path });
    const response = await get({ ...ann.headers, 'if-none-match': etag });
    expect(await response.json()).toEqual(data);
  });

  test('returns the space to callers who see other fields', async () => {
    await joinSpace(ben, space);
    const etags = [await etagOf(), await etagOf(ann), await etagOf(ben)];
    const bodies = [await get(), await get(ann.headers), await get(ben.headers)];
    const texts = await Promise.all(bodies.map((each) => each.text()));
    for (const [i, one] of texts.entries()) {
      for (const [j, other] of texts.entries()) {
        if (one !== other) expect(etags[i]).not.toBe(etags[j]);
      }
    }
    await leaveSpace(ben, space);
    expect((await get({ ...ben.headers, 'if-none-match': etags[2] ?? '' })).status).toBe(200);
  });

  test('returns the space if the server has another public URL', async () => {
    const etag = await etagOf();
    const settings = { PUBLIC_URL: 'https://spaces.example.org' };
    await using moved = await startApp(settings, { sharesDataOf: app });
    const path = `/api/spaces/${space.space_id}`;
    const response = await moved.fetch(path, { headers: { 'if-none-match': etag } });
    expect(response.status).toBe(200);
  });

  test('lets caches store only public responses, which they must revalidate', async () => {
    expect((await get()).headers.get('cache-control')).toBe('no-cache');
    expect((await get(ann.headers)).headers.get('cache-control')).toBe('no-store');
  });
});

test('each operation that returns a space returns the ETag of getSpace', async () => {
  const created = await api.createSpace({ client: ann.client, body: spaceCreation() });
  space = created.data as Space;
  expect(created.response?.headers.get('etag')).toBe(await etagOf(ann));
  const path = { space_id: space.space_id };
  const updated = await api.updateSpace({
    client: ann.client,
    path,
    body: { visibility: 'private' },
  });
  expect(updated.response?.headers.get('etag')).toBe(await etagOf(ann));
  const renewed = await api.renewInvitationCode({ client: ann.client, path });
  expect(renewed.response?.headers.get('etag')).toBe(await etagOf(ann));
  const body = { invitation_code: renewed.data?.invitation_code ?? '' };
  const joined = await api.joinSpace({ client: ben.client, path, body });
  expect(joined.response?.headers.get('etag')).toBe(await etagOf(ben));
});

describe('updateSpace with If-Match', () => {
  test('updates a space that has not been changed, and returns its new ETag', async () => {
    const { response } = await update(ann, { title: 'Coffee' }, await etagOf(ann));
    expect(response?.status).toBe(200);
    expect(response?.headers.get('etag')).toBe(await etagOf(ann));
  });

  test('does not overwrite a change that its client has not seen', async () => {
    const etag = await etagOf(ann);
    await updateFreely({ tags: ['black'] });
    expect(await getError(update(ann, { title: 'Coffee' }, etag))).toBe('412 precondition_failed');
    expect(await (await get()).json()).toMatchObject({ title: 'Tea' });
  });

  test('lets one of several concurrent changes succeed', async () => {
    const etag = await etagOf(ann);
    const results = await Promise.all(
      Array.from({ length: 5 }, (_, i) => update(ann, { title: `Tea ${i}` }, etag)),
    );
    const statuses = results.map(({ response }) => response?.status);
    expect(statuses.sort()).toEqual([200, 412, 412, 412, 412]);
  });

  test('rejects the ETag of another representation of the same version', async () => {
    const etag = await etagOf(ann);
    const version = Number(/\d+/.exec(etag)?.[0]);
    const others = [
      etag.replace(/-.*"/, '-AAAAAAAAAAAAAAAA"'),
      `"0${etag.slice(1)}`,
      `"${version}"`,
    ];
    for (const value of [...others, await etagOf()]) {
      expect(await getError(update(ann, { title: 'Coffee' }, value))).toBe(
        '412 precondition_failed',
      );
    }
    await joinSpace(ben, space);
    expect(await getError(update(ann, { title: 'Coffee' }, etag))).toBe('412 precondition_failed');
  });

  test.each([
    ['the same values', { title: ' Tea ', tags: ['#green'] }],
    ['the same visibility', { visibility: 'public' as const }],
  ])('leaves the ETag unchanged if the update has %s', async (_values, body) => {
    const etag = await etagOf(ann);
    const { response } = await update(ann, body, etag);
    expect(response?.headers.get('etag')).toBe(etag);
    expect(await etagOf(ann)).toBe(etag);
  });

  test('accepts one of several ETags, or any with an asterisk', async () => {
    const etag = await etagOf(ann);
    for (const value of [`"a,b",${etag}`, ' * ']) {
      expect((await update(ann, { title: 'Coffee' }, value)).response?.status).toBe(200);
    }
  });

  test.each(['weak', 'malformed', 'unknown', 'empty'])('rejects a %s ETag', async (kind) => {
    const etag = await etagOf(ann);
    const values = { weak: `W/${etag}`, malformed: etag.slice(1, -1), unknown: '"1"', empty: '' };
    const value = values[kind as keyof typeof values];
    expect(await getError(update(ann, { title: 'Coffee' }, value))).toBe('412 precondition_failed');
  });

  test('returns 403 and 404 before 412', async () => {
    expect(await getError(update(ben, { title: 'Coffee' }, '"1"'))).toBe('403 not_space_creator');
    const path = { space_id: 'unknown' };
    const headers = { 'If-Match': '"1"' };
    const unknown = api.updateSpace({ client: ann.client, path, headers, body: { title: 'Tea' } });
    expect(await getError(unknown)).toBe('404 space_not_found');
  });
});
