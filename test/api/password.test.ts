import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import { setPassword } from '../../server/account-lifecycle/password-reset.ts';
import type { TestUser } from '../support/client.ts';
import { retryWhileUnavailable } from '../support/retry.ts';
import { useApp } from '../support/use-app.ts';

const app = useApp();

const getProfileStatus = async (token: string | undefined) =>
  (await api.getProfile({ client: app.client(token) })).response?.status;

const login = ({ email }: TestUser, password: string) =>
  api.login({ client: app.client(), body: { email, password } });

describe('changePassword', () => {
  let user: TestUser;
  const newPassword = 'staple of the north wind';
  const change = (
    { client, password }: TestUser,
    body: { currentPassword?: string; newPassword?: string } = {},
  ) => api.changePassword({ client, body: { currentPassword: password, newPassword, ...body } });

  beforeEach(async () => {
    user = await app.register();
  });

  test('replaces the old password with the new one', async () => {
    const { data, response } = await change(user);
    expect(response?.status).toBe(200);
    expect(data).toEqual({
      message: 'Your password has been changed, and every other session has ended.',
    });
    expect((await login(user, user.password)).response?.status).toBe(401);
    expect((await login(user, newPassword)).response?.status).toBe(200);
  });

  test('ends every other session of the account and keeps the caller’s', async () => {
    const others = await Promise.all([1, 2].map(() => login(user, user.password)));
    const stranger = await app.register();
    await change(user);
    for (const { data } of others) expect(await getProfileStatus(data?.access_token)).toBe(401);
    expect(await getProfileStatus(user.token)).toBe(200);
    expect(await getProfileStatus(stranger.token)).toBe(200);
  });

  test('rejects a wrong current password and changes nothing', async () => {
    const other = await login(user, user.password);
    for (const currentPassword of ['not the right one', `${user.password} `, newPassword]) {
      const { error } = await change(user, { currentPassword });
      expect(error).toMatchObject({
        status: 403,
        code: 'current_password_incorrect',
        errors: [{ pointer: '/currentPassword' }],
      });
    }
    expect(await getProfileStatus(other.data?.access_token)).toBe(200);
    expect((await login(user, newPassword)).response?.status).toBe(401);
    expect((await login(user, user.password)).response?.status).toBe(200);
  });

  test('rejects a new password that is the username', async () => {
    const gertrude = await app.register('gertrude.s');
    const { error } = await change(gertrude, { newPassword: 'Gertrude.S' });
    expect(error).toMatchObject({
      status: 400,
      code: 'password_names_you',
      errors: [{ pointer: '/newPassword' }],
    });
  });

  test('accepts new passwords of 8 and of 256 characters', async () => {
    for (const password of ['8 charac', '🗝'.repeat(256)]) {
      const newUser = await app.register();
      expect((await change(newUser, { newPassword: password })).response?.status).toBe(200);
      expect((await login(newUser, password)).response?.status).toBe(200);
    }
  });

  test('accepts one of twenty concurrent requests', async () => {
    const passwords = Array.from({ length: 20 }, (_, i) => `new password ${i}`);
    // On a busy machine, requests wait too long for password hashing. They have changed nothing.
    const responses = await Promise.all(
      passwords.map((newPassword) => retryWhileUnavailable(() => change(user, { newPassword }))),
    );
    const statuses = responses.map(({ response }) => response?.status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => status === 403)).toHaveLength(19);
    const accepted = passwords[statuses.indexOf(200)] ?? '';
    expect((await login(user, accepted)).response?.status).toBe(200);
  });

  test('leaves no session from logins that verified the old password concurrently', async () => {
    const logins = Array.from({ length: 12 }, async (_, i) => {
      await sleep(i * 8);
      return login(user, user.password);
    });
    await sleep(20);
    const { response } = await change(user);
    expect(response?.status).toBe(200);
    const responses = await Promise.all(logins);
    for (const { data } of responses) {
      if (data) expect(await getProfileStatus(data.access_token)).toBe(401);
    }
    expect((await login(user, user.password)).response?.status).toBe(401);
    const sessions = app.context.engine.db
      .selectFrom('sessions')
      .innerJoin('users', 'users.pk', 'sessions.user_pk')
      .select('sessions.pk')
      .where('users.user_id', '=', user.userId);
    expect(await sessions.execute()).toHaveLength(1);
  });
});

describe('setPassword', () => {
  test('ends every session of the account', async () => {
    const user = await app.register();
    const newPassword = 'staple of the north wind';
    const other = await login(user, user.password);
    expect(await setPassword(app.context, user.email, newPassword)).toBe(true);
    for (const token of [user.token, other.data?.access_token]) {
      expect(await getProfileStatus(token)).toBe(401);
    }
    expect((await login(user, newPassword)).response?.status).toBe(200);
  });
});
