import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { SessionSummary } from '../../generated/types.gen.ts';
import { type Caller, endAllSessions, findCaller } from '../../server/auth/sessions.ts';
import { startApp } from '../support/app.ts';
import type { TestUser } from '../support/client.ts';
import { readDataFolder } from '../support/data-files.ts';
import { readPages } from '../support/pages.ts';
import { useApp } from '../support/use-app.ts';

const app = useApp();
let alice: TestUser;

beforeAll(async () => {
  alice = await app.register('alice');
});

/** Returns the access token of a new session. */
async function openSession({ email, password }: TestUser): Promise<string> {
  const body = { email, password };
  const { data } = await api.login({ client: app.client(), body, throwOnError: true });
  return data.access_token;
}

async function getProfileStatus(token: string): Promise<number | undefined> {
  const { response } = await api.getProfile({ client: app.client(token) });
  return response?.status;
}

describe('access tokens', () => {
  test('have 256 random bits and the prefix sps_', () => {
    expect(alice.token).toMatch(/^sps_[A-Za-z0-9_-]{43}$/);
  });

  test('are stored as a hash only', async () => {
    const row = await session(alice.token).selectAll().executeTakeFirstOrThrow();
    expect(row.token_hash).toBe(sha256(alice.token));
    for (const { name, content } of await readDataFolder(app.context.config.dataDir)) {
      expect(content.includes(alice.token), name).toBe(false);
    }
  });

  test.each(['Bearer', 'bearer', 'BEARER', 'bEaReR', 'Bearer  '])(
    'are accepted after the scheme "%s"',
    async (scheme) => {
      const headers = { authorization: `${scheme} ${alice.token}` };
      expect((await app.fetch('/api/profile/me', { headers })).status).toBe(200);
    },
  );

  test('are accepted in the Authorization header only', async () => {
    const { token } = alice;
    const inQuery = await app.fetch(`/api/profile/me?access_token=${token}`);
    expect(inQuery.status).toBe(401);
    const cookie = `access_token=${token}; token=${token}`;
    const inCookie = await app.fetch('/api/profile/me', { headers: { cookie } });
    expect(inCookie.status).toBe(401);
  });

  test('expire after 30 days without use, not earlier', async () => {
    const token = await openSession(alice);
    const other = await openSession(alice);
    await backdate(token, { createdDaysAgo: 31, usedDaysAgo: 30.001 });
    await backdate(other, { createdDaysAgo: 31, usedDaysAgo: 29.999 });
    expect(await getProfileStatus(token)).toBe(401);
    expect(await getProfileStatus(other)).toBe(200);
  });

  test('are extended when they are used', async () => {
    const token = await openSession(alice);
    await backdate(token, { createdDaysAgo: 40, usedDaysAgo: 29 });
    expect(await getProfileStatus(token)).toBe(200);
    const secondsSinceUse = async () => {
      const { last_used_at } = await session(token).selectAll().executeTakeFirstOrThrow();
      return (Date.now() - Date.parse(last_used_at)) / 1000;
    };
    // The response does not wait until the use has been recorded.
    await expect.poll(secondsSinceUse).toBeLessThan(10);
  });

  test('expire after 90 days even if they are used', async () => {
    const token = await openSession(alice);
    const other = await openSession(alice);
    await backdate(token, { createdDaysAgo: 90.001, usedDaysAgo: 0 });
    await backdate(other, { createdDaysAgo: 89.999, usedDaysAgo: 0 });
    expect(await getProfileStatus(token)).toBe(401);
    expect(await getProfileStatus(other)).toBe(200);
  });

  test('are deleted after they have expired', async () => {
    const token = await openSession(alice);
    await backdate(token, { createdDaysAgo: 90.001, usedDaysAgo: 0 });
    await app.context.housekeeping.run();
    expect(await session(token).selectAll().executeTakeFirst()).toBeUndefined();
    expect(await getProfileStatus(alice.token)).toBe(200);
  });

  test('expire after SESSION_MAX_DAYS, even if SESSION_IDLE_DAYS is longer', async () => {
    await using strict = await startApp({ SESSION_IDLE_DAYS: '2', SESSION_MAX_DAYS: '1' });
    const { data } = await api.register({
      client: strict.client(),
      body: { username: 'brief', email: 'brief@example.com', password: alice.password },
    });
    expect(data?.expires_in).toBe(24 * 60 * 60);
    const client = strict.client(data?.access_token);
    expect((await api.getProfile({ client })).response?.status).toBe(200);
    await strict.context.engine.db
      .updateTable('sessions')
      .set({ created_at: daysAgo(1.001) })
      .execute();
    expect((await api.getProfile({ client })).response?.status).toBe(401);
  });

  test('expire after SESSION_IDLE_DAYS without use, not earlier', async () => {
    await using strict = await startApp({ SESSION_IDLE_DAYS: '2' });
    const { client } = await strict.register();
    const statusAfter = async (idleDays: number) => {
      await strict.context.engine.db
        .updateTable('sessions')
        .set({ last_used_at: daysAgo(idleDays) })
        .execute();
      return (await api.getProfile({ client })).response?.status;
    };
    const lastUsedAt = async () => {
      const sessions = strict.context.engine.db.selectFrom('sessions').select('last_used_at');
      return (await sessions.executeTakeFirstOrThrow()).last_used_at;
    };
    expect(await statusAfter(1.999)).toBe(200);
    // The response does not wait until the use has been recorded.
    await expect.poll(async () => (await lastUsedAt()) > daysAgo(1)).toBe(true);
    expect(await statusAfter(2.001)).toBe(401);
  });

  const session = (token: string) =>
    app.context.engine.db.selectFrom('sessions').where('token_hash', '=', sha256(token));

  async function backdate(
    token: string,
    { createdDaysAgo, usedDaysAgo }: { createdDaysAgo: number; usedDaysAgo: number },
  ): Promise<void> {
    await app.context.engine.db
      .updateTable('sessions')
      .set({ created_at: daysAgo(createdDaysAgo), last_used_at: daysAgo(usedDaysAgo) })
      .where('token_hash', '=', sha256(token))
      .execute();
  }
});

describe('logout', () => {
  test('ends the current session only', async () => {
    const token = await openSession(alice);
    const other = await openSession(alice);
    const { data, response } = await api.logout({ client: app.client(token) });
    expect(response?.status).toBe(200);
    expect(data).toEqual({ message: 'You are signed out.' });
    expect(await getProfileStatus(token)).toBe(401);
    expect(await getProfileStatus(other)).toBe(200);
    expect((await api.logout({ client: app.client(token) })).error).toMatchObject({ status: 401 });
  });

  test('ends all sessions of the account with everywhere=true, and no others', async () => {
    const bob = await app.register('bob');
    const tokens = [await openSession(bob), await openSession(bob), bob.token];
    await api.logout({
      client: app.client(tokens[0]),
      query: { everywhere: true },
      throwOnError: true,
    });
    expect(await Promise.all(tokens.map(getProfileStatus))).toEqual([401, 401, 401]);
    expect(await getProfileStatus(alice.token)).toBe(200);
    expect(await getProfileStatus(await openSession(bob))).toBe(200);
  });

  test('ends no other session with everywhere=true if the caller’s session has ended meanwhile', async () => {
    const ines = await app.register('ines');
    const { engine, config } = app.context;
    const caller = (await findCaller(engine, ines.token, config.sessions)) as Caller;
    const token = await openSession(ines);
    await api.logout({ client: ines.client, throwOnError: true });
    const logout = endAllSessions(engine, caller);
    await expect(logout).rejects.toMatchObject({ code: 'unauthenticated' });
    expect(await getProfileStatus(token)).toBe(200);
  });
});

describe('listSessions', () => {
  const list = async (token: string) =>
    (await api.listSessions({ client: app.client(token), throwOnError: true })).data.items;

  test('returns the sessions of the caller, newest first, without tokens', async () => {
    const carla = await app.register('carla');
    const newer = await openSession(carla);
    const sessions = await list(carla.token);
    const session = {
      session_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      created_at: expect.any(String),
      last_used_at: expect.any(String),
      device_name: null,
    };
    expect(sessions).toEqual([
      { ...session, is_current: false },
      { ...session, is_current: true },
    ]);
    expect((await list(newer)).map(({ is_current }) => is_current)).toEqual([true, false]);
    const text = JSON.stringify(sessions);
    for (const secret of [carla.token, newer, sha256(carla.token), sha256(newer)]) {
      expect(text).not.toContain(secret);
    }
  });

  test('returns the name of the device that the client sent when it started the session', async () => {
    const body = {
      username: 'fay',
      email: 'fay@example.com',
      password: 'correct horse battery',
      device_name: ' Fay’s phone\t',
    };
    const client = app.client();
    const { data } = await api.register({ client, body, throwOnError: true });
    const { username: _, ...credentials } = { ...body, device_name: '笔记本电脑' };
    await api.login({ client, body: credentials, throwOnError: true });
    const names = (await list(data.access_token)).map(({ device_name }) => device_name);
    expect(names).toEqual(['笔记本电脑', 'Fay’s phone']);
  });

  test('omits expired sessions', async () => {
    const dora = await app.register('dora');
    const expired = await openSession(dora);
    await app.context.engine.db
      .updateTable('sessions')
      .set({ last_used_at: daysAgo(31) })
      .where('token_hash', '=', sha256(expired))
      .execute();
    expect(await list(dora.token)).toMatchObject([{ is_current: true }]);
  });

  test('returns the same list in pages of two', async () => {
    const edda = await app.register('edda');
    for (let i = 0; i < 4; i += 1) await openSession(edda);
    const pages = await readPages<SessionSummary>(app, '/api/auth/sessions?limit=2', {
      headers: edda.headers,
    });
    expect(pages.map((page) => page.length)).toEqual([2, 2, 1]);
    expect(pages.flat()).toEqual(await list(edda.token));
  });
});

describe('endSession', () => {
  const end = (token: string, session_id: string) =>
    api.endSession({ client: app.client(token), path: { session_id } });
  const idOf = async (token: string) => {
    const { data } = await api.listSessions({ client: app.client(token), throwOnError: true });
    return data.items.find(({ is_current }) => is_current)?.session_id as string;
  };

  test('ends one session of the caller', async () => {
    const tokens = [await openSession(alice), await openSession(alice), await openSession(alice)];
    const [caller, ended, other] = tokens as [string, string, string];
    const sessionId = await idOf(ended);
    const { data } = await end(caller, sessionId);
    expect(data).toEqual({ message: 'The session has ended.' });
    expect(await getProfileStatus(ended)).toBe(401);
    expect(await getProfileStatus(caller)).toBe(200);
    expect(await getProfileStatus(other)).toBe(200);
    expect((await end(caller, sessionId)).error).toMatchObject({
      status: 404,
      code: 'session_not_found',
    });
  });

  test('can end the session that sends the request', async () => {
    const token = await openSession(alice);
    expect((await end(token, await idOf(token))).response?.status).toBe(200);
    expect(await getProfileStatus(token)).toBe(401);
  });

  test('does not end sessions of other users', async () => {
    const fred = await app.register('fred');
    const { error } = await end(fred.token, await idOf(alice.token));
    expect(error).toMatchObject({ status: 404, code: 'session_not_found' });
    expect(await getProfileStatus(alice.token)).toBe(200);
  });
});

function daysAgo(days: number): string {
  return new Date(Date.now() - days * 24 * 60 * 60 * 1000).toISOString();
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
