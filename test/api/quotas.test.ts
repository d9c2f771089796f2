import { afterEach, describe, expect, test, vi } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { Message } from '../../generated/types.gen.ts';
import { suspendAccount } from '../../server/account-lifecycle/suspension.ts';
import { importRecords } from '../../server/import-export/import.ts';
import { startApp } from '../support/app.ts';
import type { TestUser } from '../support/client.ts';
import { getError } from '../support/errors.ts';
import { toLines } from '../support/ndjson.ts';
import { createSpace, joinSpace, sendMessage, spaceCreation } from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';

const HOUR_MS = 3_600_000;
const NEW_SPACE = spaceCreation();

let addresses = 0;
/** Returns headers with a new IPv4 address. Each test needs its own, because accounts in a network share a limit. */
const headersFromNewAddress = () => ({ 'x-forwarded-for': `192.0.2.${++addresses}` });

interface Result {
  response?: Response;
  error?: unknown;
}

const statusOf = async (call: Promise<Result>) => (await call).response?.status;

/** Returns the limit, its period, and what remains of it, such as `0 of 3;w=3600`. */
const quotaOf = ({ response }: Result) => {
  const [limit, policy, remaining] = ['limit', 'policy', 'remaining'].map((name) =>
    response?.headers.get(`ratelimit-${name}`),
  );
  expect(policy?.split(';')[0]).toBe(limit);
  return `${remaining} of ${policy}`;
};

const expectRetryAfter = async (call: Promise<Result>, maxSeconds: number, limit: string) => {
  const result = await call;
  const { response, error } = result;
  expect(quotaOf(result)).toMatch(/^0 of /);
  expect(response?.headers.get('ratelimit-reset')).toBe(response?.headers.get('retry-after'));
  expect(error).toMatchObject({ status: 429, code: 'too_many_requests', errors: [] });
  const seconds = Number(response?.headers.get('retry-after'));
  expect(seconds).toBeGreaterThan(maxSeconds - 60);
  expect(seconds).toBeLessThanOrEqual(maxSeconds);
  expect(error).toMatchObject({ detail: `${limit} Try again in ${seconds} seconds.` });
};

afterEach(() => void vi.useRealTimers());

describe('The quotas per hour and day', () => {
  const settings = {
    RATE_LIMITS: 'on',
    TRUST_PROXY: '127.0.0.1',
    SPACES_PER_HOUR: '3',
    SPACES_PER_DAY: '5',
    MESSAGES_PER_HOUR: '4',
    CHANGES_PER_HOUR: '4',
  };
  const app = useApp(settings);

  const create = ({ client }: TestUser, headers: Record<string, string>) =>
    api.createSpace({ client, headers, body: NEW_SPACE });

  test('count created and updated spaces, even after they are deleted', async () => {
    const [user, headers] = [await app.register(), headersFromNewAddress()];
    const { client } = user;
    const { data: space } = await api.createSpace({ client, headers, body: NEW_SPACE });
    const path = { space_id: space?.space_id ?? '' };
    const update = () => api.updateSpace({ client, headers, path, body: { title: 'Coffee' } });
    expect(await statusOf(update())).toBe(200);
    expect(await statusOf(api.deleteSpace({ client, path }))).toBe(200);
    expect(await statusOf(create(user, headers))).toBe(201);
    const limit = 'An account can create or update at most 3 spaces per hour.';
    await expectRetryAfter(create(user, headers), 3_600, limit);
    expect(await statusOf(create(await app.register(), headers))).toBe(201);
  });

  test('are in the headers of what counts: the one of which the least remains', async () => {
    const [user, headers] = [await app.register(), headersFromNewAddress()];
    const { client } = user;
    for (const remaining of [2, 1, 0]) {
      expect(quotaOf(await create(user, headers))).toBe(`${remaining} of 3;w=3600`);
    }
    expect(quotaOf(await create(user, headers))).toBe('0 of 3;w=3600');
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + HOUR_MS + 1_000 });
    const first = await create(user, headers);
    expect(quotaOf(first)).toBe('1 of 5;w=86400');
    const seconds = Number(first.response?.headers.get('ratelimit-reset'));
    expect(seconds).toBeGreaterThan(22 * 3_600);
    expect(seconds).toBeLessThan(23 * 3_600);
    // Neither what does not count nor another error has them.
    const path = { space_id: 'unknown' };
    for (const { response } of [
      await api.updateSpace({ client, headers, path, body: { title: 'Coffee' } }),
      await api.deleteSpace({ client, path: { space_id: first.data?.space_id ?? '' } }),
    ]) {
      expect(response?.headers.has('ratelimit-policy')).toBe(false);
    }
  });

  test('do not count requests that fail', async () => {
    const [user, headers] = [await app.register(), headersFromNewAddress()];
    const { client } = user;
    for (let i = 0; i < 5; i += 1) {
      const path = { space_id: 'unknown' };
      const update = api.updateSpace({ client, headers, path, body: { title: 'Coffee' } });
      expect(await statusOf(update)).toBe(404);
    }
    for (let i = 0; i < 2; i += 1) expect(await statusOf(create(user, headers))).toBe(201);
    const { data: space } = await create(user, headers);
    expect(await statusOf(create(user, headers))).toBe(429);
    const path = { space_id: space?.space_id ?? '' };
    const update = api.updateSpace({ client, headers, path, body: { title: 'Coffee' } });
    expect(await statusOf(update)).toBe(429);
  });

  test('allow more after an hour and after a day, and if the clock was ahead', async () => {
    const [user, headers] = [await app.register(), headersFromNewAddress()];
    for (let i = 0; i < 3; i += 1) expect(await statusOf(create(user, headers))).toBe(201);
    expect(await statusOf(create(user, headers))).toBe(429);
    const startedAt = Date.now();
    const passTime = (ms: number) => vi.useFakeTimers({ toFake: ['Date'], now: startedAt + ms });
    passTime(HOUR_MS + 1_000);
    for (let i = 0; i < 2; i += 1) expect(await statusOf(create(user, headers))).toBe(201);
    const limit = 'An account can create or update at most 5 spaces per day.';
    await expectRetryAfter(create(user, headers), 23 * 3_600, limit);
    passTime(24 * HOUR_MS + 1_000);
    expect(await statusOf(create(user, headers))).toBe(201);
    // The clock was ahead.
    passTime(0);
    expect(await statusOf(create(user, headers))).toBe(201);
  });

  test('count concurrent requests to several processes exactly', async () => {
    await using second = await startApp(settings, { sharesDataOf: app });
    const [user, headers] = [await app.register(), headersFromNewAddress()];
    const statuses = await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        statusOf(create({ ...user, client: (i % 2 ? app : second).client(user.token) }, headers)),
      ),
    );
    expect(statuses.filter((status) => status === 201)).toHaveLength(3);
    expect(statuses.filter((status) => status === 429)).toHaveLength(9);
  });

  test('count messages and their edits', async () => {
    const [user, headers] = [await app.register(), headersFromNewAddress()];
    const space = await createSpace(user);
    const send = () =>
      api.sendMessage({
        client: user.client,
        headers,
        body: { space_id: space.space_id, text: 'Hello' },
      });
    for (let i = 0; i < 3; i += 1) expect(await statusOf(send())).toBe(201);
    const { data } = await api.listMessages({
      client: user.client,
      query: space,
      throwOnError: true,
    });
    const path = data.items[0] as Message;
    const edit = () =>
      api.editMessage({ client: user.client, headers, path, body: { text: 'Edited' } });
    expect(await statusOf(edit())).toBe(200);
    for (const exceeding of [send, edit]) {
      const detail = 'An account can send or edit at most 4 messages per hour.';
      await expectRetryAfter(exceeding(), 3_600, detail);
    }
  });

  test('count joining, appreciating, reading and changing the bio together, but not their reversal', async () => {
    const [user, other, headers] = [
      await app.register(),
      await app.register(),
      headersFromNewAddress(),
    ];
    const { client } = user;
    const space = await createSpace(other);
    const message = await sendMessage(other, space, 'Hello');
    const [path, messagePath] = [{ space_id: space.space_id }, { message_id: message.message_id }];
    const join = () => api.joinSpace({ client, headers, path, body: {} });
    const appreciate = () => api.appreciateMessage({ client, headers, path: messagePath });
    const markRead = () => api.markRead({ client, headers, path, body: messagePath });
    const changeBio = () => api.changeBio({ client, headers, body: { bio: 'Here' } });
    const actions = [
      join,
      () => api.leaveSpace({ client, path }),
      join,
      appreciate,
      () => api.withdrawAppreciation({ client, path: messagePath }),
      changeBio,
    ];
    for (const act of actions) expect(await statusOf(act())).toBe(200);
    for (const act of [join, appreciate, markRead, changeBio]) {
      await expectRetryAfter(act(), 3_600, 'An account can make at most 4 changes per hour.');
    }
    expect(await statusOf(api.leaveSpace({ client, path }))).toBe(200);
  });

  test('count renewed invitation codes, removed participants and reports as changes', async () => {
    const [user, other, headers] = [
      await app.register(),
      await app.register(),
      headersFromNewAddress(),
    ];
    const { client } = user;
    const hidden = await createSpace(user, { visibility: 'private' });
    await joinSpace(other, hidden);
    const foreign = await createSpace(other);
    const message = await sendMessage(other, foreign, 'Hello');
    const path = { space_id: hidden.space_id };
    const removal = { ...path, user_id: other.userId };
    const body = { reason: 'Advertising' };
    const actions = [
      () => api.renewInvitationCode({ client, headers, path }),
      () => api.removeParticipant({ client, headers, path: removal }),
      () => api.reportSpace({ client, headers, path: { space_id: foreign.space_id }, body }),
      () => api.reportMessage({ client, headers, path: { message_id: message.message_id }, body }),
    ];
    for (const act of actions) expect(await statusOf(act())).toBe(200);
    const token = { name: 'Bot', scopes: ['read' as const] };
    const others = [
      () => api.appointModerator({ client, headers, path: removal }),
      () => api.createToken({ client, headers, body: token }),
      () => api.reportUser({ client, headers, path: removal, body }),
      () => api.blockUser({ client, headers, path: removal }),
      () => api.updateParticipation({ client, headers, path: removal, body: { muted: true } }),
    ];
    for (const act of [...actions, ...others]) {
      await expectRetryAfter(act(), 3_600, 'An account can make at most 4 changes per hour.');
    }
    expect(await statusOf(api.undoRemoval({ client, path: removal }))).toBe(200);
  });

  test('allow all accounts in a network together ten times the hourly quota of one account', async () => {
    const headers = { 'x-forwarded-for': '2001:db8:7:1::1' };
    // Another client in the same network, which is a /48 block.
    const neighbour = { 'x-forwarded-for': '2001:db8:7:2::1' };
    for (let i = 0; i < 10; i += 1) {
      const user = await app.register();
      for (let j = 0; j < 3; j += 1) expect(await statusOf(create(user, headers))).toBe(201);
    }
    const user = await app.register();
    const { response, error } = await create(user, neighbour);
    expect(error).toMatchObject({ status: 429, code: 'too_many_requests' });
    expect(Number(response?.headers.get('retry-after'))).toBeLessThanOrEqual(3_600);
    expect(await statusOf(create(user, { 'x-forwarded-for': '2001:db8:8:1::1' }))).toBe(201);
  });

  test('are off with RATE_LIMITS=off', async () => {
    await using unlimited = await startApp({ ...settings, RATE_LIMITS: 'off' });
    const user = await unlimited.register();
    for (let i = 0; i < 6; i += 1) await createSpace(user);
  });
});

describe('The quotas of an account in total', () => {
  const settings = { MAX_SPACES: '3', MAX_PARTICIPATIONS: '4', MAX_TAGS: '5', MAX_SESSIONS: '3' };
  const app = useApp(settings);

  test('limit the number of spaces, and deleting one makes room', async () => {
    const user = await app.register();
    const { client } = user;
    const created = await Promise.all(
      Array.from({ length: 8 }, () => api.createSpace({ client, body: NEW_SPACE })),
    );
    const spaces = created.flatMap(({ data }) => data ?? []);
    expect(spaces).toHaveLength(3);
    const { error } = await api.createSpace({ client, body: NEW_SPACE });
    expect(error).toMatchObject({
      status: 409,
      code: 'quota_exceeded',
      detail: 'An account can have at most 3 spaces. Delete one before you create another.',
    });
    await api.deleteSpace({ client, path: { space_id: spaces[0]?.space_id ?? '' } });
    expect(await statusOf(api.createSpace({ client, body: NEW_SPACE }))).toBe(201);
  });

  test('have error messages in the singular for a limit of one', async () => {
    await using single = await startApp({ RATE_LIMITS: 'on', SPACES_PER_HOUR: '1', MAX_TAGS: '1' });
    const user = await single.register();
    const create = (tags: string[]) =>
      api.createSpace({ client: user.client, body: { ...NEW_SPACE, tags } });
    expect((await create(['a', 'b'])).error).toMatchObject({
      detail: expect.stringMatching(/^The spaces of an account can have at most 1 tag in total\./),
    });
    expect(await statusOf(create(['a']))).toBe(201);
    expect((await create([])).error).toMatchObject({
      detail: expect.stringMatching(/^An account can create or update at most 1 space per hour\./),
    });
  });

  test('limit the number of participations, including those in own spaces', async () => {
    const [user, other] = [await app.register(), await app.register()];
    const { client } = user;
    const own = [await createSpace(user), await createSpace(user)];
    const foreign = [await createSpace(other), await createSpace(other), await createSpace(other)];
    for (const space of foreign.slice(0, 2)) await joinSpace(user, space);
    const path = { space_id: foreign[2]?.space_id ?? '' };
    const join = () => api.joinSpace({ client, path, body: {} });
    expect(await getError(join())).toBe('409 quota_exceeded');
    expect(await getError(api.createSpace({ client, body: NEW_SPACE }))).toBe('409 quota_exceeded');
    // Joining again has no effect.
    for (const space of [...own, ...foreign.slice(0, 2)]) await joinSpace(user, space);
    await api.leaveSpace({ client, path: { space_id: foreign[0]?.space_id ?? '' } });
    expect(await statusOf(join())).toBe(200);
  });

  test('do not count participations in spaces of suspended creators, which cannot be left', async () => {
    const [user, suspended, other] = [
      await app.register(),
      await app.register(),
      await app.register(),
    ];
    for (const _ of [1, 2, 3]) await joinSpace(user, await createSpace(suspended));
    await joinSpace(user, await createSpace(other));
    await suspendAccount(app.context.engine, suspended.userId);
    await joinSpace(user, await createSpace(other));
  });

  test('limit the number of tags of all spaces', async () => {
    const user = await app.register();
    const { client } = user;
    const { space_id } = await createSpace(user, { tags: ['a', 'b', 'c'] });
    const body = { ...NEW_SPACE, tags: ['d', 'e', 'f'] };
    expect(await getError(api.createSpace({ client, body }))).toBe('409 quota_exceeded');
    await createSpace(user, { tags: ['a', 'e'] });
    await createSpace(user);
    const update = (tags: string[]) =>
      api.updateSpace({ client, path: { space_id }, body: { tags } });
    expect(await getError(update(['a', 'b', 'c', 'd']))).toBe('409 quota_exceeded');
    const unchanged = await api.getSpace({ client, path: { space_id } });
    expect(unchanged.data?.tags.map(({ tag_name }) => tag_name)).toEqual(['a', 'b', 'c']);
    expect(await statusOf(update(['x', 'y', 'z']))).toBe(200);
    expect(await statusOf(update(['x']))).toBe(200);
  });

  test('do not limit imports, and imported accounts can still reduce what they have', async () => {
    const user = await app.register();
    const spaces = Array.from({ length: 5 }, (_, i) => ({
      type: 'space',
      space_id: `i-${user.userId}-${i}`,
      creator_id: user.userId,
      title: 'Tea',
      tags: ['a', 'b', 'c'],
    }));
    const report = await importRecords(app.context.engine, toLines(spaces));
    expect(report).toMatchObject({ added: 5 });
    const { client } = user;
    expect(await getError(api.createSpace({ client, body: NEW_SPACE }))).toBe('409 quota_exceeded');
    const path = { space_id: `i-${user.userId}-0` };
    const update = (tags: string[]) => api.updateSpace({ client, path, body: { tags } });
    expect(await statusOf(update(['a', 'b']))).toBe(200);
    expect(await statusOf(update(['a', 'c']))).toBe(200);
    expect(await getError(update(['a', 'b', 'c']))).toBe('409 quota_exceeded');
  });

  /** Returns the access token of a new session. */
  const openSession = async ({ email, password }: TestUser) => {
    const body = { email, password };
    return (await api.login({ client: app.client(), body, throwOnError: true })).data.access_token;
  };

  test('end the sessions that were not used for the longest time', async () => {
    const user = await app.register();
    const isValid = async (each: string) =>
      (await statusOf(api.getProfile({ client: app.client(each) }))) === 200;
    const startedAt = Date.now();
    const second = await openSession(user);
    const third = await openSession(user);
    // The first session is used again later.
    vi.useFakeTimers({ toFake: ['Date'], now: startedAt + 2 * HOUR_MS });
    expect(await isValid(user.token)).toBe(true);
    const { db } = app.context.engine;
    const used = db
      .selectFrom('sessions')
      .select('pk')
      .where('last_used_at', '>', new Date().toISOString().slice(0, 13));
    // The time of the last use is stored without delaying the response.
    await expect.poll(async () => (await used.execute()).length).toBe(1);
    const fourth = await openSession(user);
    expect(await isValid(second)).toBe(false);
    for (const each of [user.token, third, fourth]) expect(await isValid(each)).toBe(true);
  });

  test('never end the session of the login, even if a clock was ahead when the others were used', async () => {
    const user = await app.register();
    const statusWith = (token: string) => statusOf(api.getProfile({ client: app.client(token) }));
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + HOUR_MS });
    const earlier = [await openSession(user), await openSession(user), await openSession(user)];
    vi.useRealTimers();
    expect(await statusWith(await openSession(user))).toBe(200);
    expect(await Promise.all(earlier.map(statusWith))).toEqual([401, 200, 200]);
  });
});

describe('Joining by invitation code', () => {
  const app = useApp({ RATE_LIMITS: 'on', TRUST_PROXY: '127.0.0.1' });

  const join = (
    { client }: TestUser,
    space_id: string,
    invitation_code: string | null,
    headers: Record<string, string>,
  ) => api.joinSpace({ client, headers, path: { space_id }, body: { invitation_code } });

  test('is rejected after 30 failures of an account per hour', async () => {
    const [creator, guesser, guest] = [
      await app.register(),
      await app.register(),
      await app.register(),
    ];
    const headers = headersFromNewAddress();
    const hidden = await createSpace(creator, { visibility: 'private' });
    const open = await createSpace(creator);
    for (let i = 0; i < 30; i += 1) {
      expect(await getError(join(guesser, hidden.space_id, `guess-${i}`, headers))).toBe(
        '404 space_not_found',
      );
      // A success does not reset the count.
      if (i === 20) expect(await statusOf(join(guesser, open.space_id, null, headers))).toBe(200);
    }
    const { response, error } = await join(
      guesser,
      hidden.space_id,
      hidden.invitation_code,
      headers,
    );
    expect(error).toMatchObject({ status: 429, code: 'too_many_requests' });
    expect(Number(response?.headers.get('retry-after'))).toBeLessThanOrEqual(3_600);
    expect(await statusOf(join(guest, hidden.space_id, hidden.invitation_code, headers))).toBe(200);
  });

  test('succeeds if an account sends 40 attempts at once, because they wait for each other', async () => {
    const [creator, user] = [await app.register(), await app.register()];
    const headers = headersFromNewAddress();
    const { space_id, invitation_code } = await createSpace(creator, { visibility: 'private' });
    const attempts = Array.from({ length: 40 }, () =>
      statusOf(join(user, space_id, invitation_code, headers)),
    );
    expect(new Set(await Promise.all(attempts))).toEqual(new Set([200]));
  });

  test('is rejected after 300 failures of a network per hour', async () => {
    const creator = await app.register();
    const hidden = await createSpace(creator, { visibility: 'private' });
    const from = (block: number) => ({ 'x-forwarded-for': `2001:db8:9:${block}::1` });
    for (let i = 0; i < 10; i += 1) {
      const guesser = await app.register();
      for (let j = 0; j < 30; j += 1) {
        const guess = join(guesser, hidden.space_id, `guess-${j}`, from(i));
        expect(await statusOf(guess)).toBe(404);
      }
    }
    const next = await app.register();
    expect(await statusOf(join(next, hidden.space_id, 'guess', from(99)))).toBe(429);
    expect(await statusOf(join(next, hidden.space_id, 'guess', headersFromNewAddress()))).toBe(404);
    // A public space has no code to guess.
    const open = await createSpace(creator);
    expect(await statusOf(join(next, open.space_id, null, from(99)))).toBe(200);
  });
});
