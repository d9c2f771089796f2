import { hash } from '@node-rs/argon2';
import { hash as hashBcrypt } from '@node-rs/bcrypt';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import { importRecords } from '../../server/import-export/import.ts';
import { startApp, type TestApp } from '../support/app.ts';
import type { TestUser } from '../support/client.ts';
import { useRealHashingCost } from '../support/hashing-cost.ts';
import { toLines } from '../support/ndjson.ts';

let app: TestApp;
let alice: TestUser;

beforeAll(async () => {
  useRealHashingCost();
  app = await startApp();
  alice = await app.register('alice');
});
afterAll(() => app[Symbol.asyncDispose]());

const login = (email: string, password: string) =>
  api.login({ client: app.client(), body: { email, password } });

async function getProfileStatus(token: string): Promise<number | undefined> {
  const { response } = await api.getProfile({ client: app.client(token) });
  return response?.status;
}

describe('login', () => {
  test('rehashes the password if the stored hash uses weaker parameters', async () => {
    const { userId, email, password } = await app.register();
    const { db } = app.context.engine;
    const password_hash = await hash(password, { memoryCost: 8192, timeCost: 2, parallelism: 1 });
    await db.updateTable('users').set({ password_hash }).where('user_id', '=', userId).execute();
    expect((await login(email, password)).response?.status).toBe(200);
    const row = await db
      .selectFrom('users')
      .select('password_hash')
      .where('user_id', '=', userId)
      .executeTakeFirst();
    expect(row?.password_hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  });

  test.each(['$2a$', '$2b$', '$2y$'])(
    'replaces an imported bcrypt hash with %s',
    async (prefix) => {
      const password = 'Grüße aus der Küche';
      const password_hash = (await hashBcrypt(password, 4)).replace('$2b$', prefix);
      const { engine } = app.context;
      const [email, username] = [
        `${prefix.slice(1, 3)}@example.com`,
        `imported${prefix.slice(1, 3)}`,
      ];
      const user = { type: 'user', username, email, password_hash };
      expect(await importRecords(engine, toLines([user]))).toMatchObject({ added: 1 });
      const stored = async () => {
        const rows = engine.db
          .selectFrom('users')
          .select('password_hash')
          .where('email', '=', email);
        return (await rows.executeTakeFirst())?.password_hash;
      };
      expect((await login(email, `${password}.`)).response?.status).toBe(401);
      expect(await stored()).toBe(password_hash);
      expect((await login(email, password)).response?.status).toBe(200);
      expect(await stored()).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
      expect((await login(email, password)).response?.status).toBe(200);
    },
  );

  test('succeeds in concurrent requests although one of them replaces the stored hash', async () => {
    const { userId, email, password } = await app.register();
    const { db } = app.context.engine;
    for (let round = 0; round < 3; round += 1) {
      const password_hash = await hash(password, { memoryCost: 64, timeCost: 1, parallelism: 1 });
      await db.updateTable('users').set({ password_hash }).where('user_id', '=', userId).execute();
      const results = await Promise.all(Array.from({ length: 3 }, () => login(email, password)));
      expect(results.map(({ response }) => response?.status)).toEqual([200, 200, 200]);
    }
  });

  test('does not make a concurrent password change fail by replacing the stored hash', async () => {
    const { userId, email, password, client } = await app.register();
    const { db } = app.context.engine;
    let current = password;
    for (let round = 0; round < 3; round += 1) {
      const password_hash = await hash(current, { memoryCost: 64, timeCost: 1, parallelism: 1 });
      await db.updateTable('users').set({ password_hash }).where('user_id', '=', userId).execute();
      const newPassword = `marmalade on toast ${round}`;
      const [, change] = await Promise.all([
        login(email, current),
        api.changePassword({ client, body: { currentPassword: current, newPassword } }),
      ]);
      expect(change.response?.status).toBe(200);
      expect((await login(email, current)).response?.status).toBe(401);
      expect((await login(email, newPassword)).response?.status).toBe(200);
      current = newPassword;
    }
  });

  test('creates a session and keeps the other ones', async () => {
    const { data, response } = await login(alice.email.toUpperCase(), alice.password);
    expect(response?.status).toBe(200);
    expect(data).toMatchObject({
      user_id: alice.userId,
      token_type: 'Bearer',
      expires_in: 2_592_000,
    });
    expect(data?.access_token).not.toBe(alice.token);
    expect(await getProfileStatus(data?.access_token ?? '')).toBe(200);
    expect(await getProfileStatus(alice.token)).toBe(200);
  });

  test('accepts a password in another Unicode normalisation form', async () => {
    const password = 'crème brûlée';
    await api.register({
      client: app.client(),
      body: { username: 'cook', email: 'cook@example.com', password: password.normalize('NFD') },
      throwOnError: true,
    });
    const { response } = await login('cook@example.com', password.normalize('NFC'));
    expect(response?.status).toBe(200);
  });

  test('rejects passwords that differ by a space, by case or by one character', async () => {
    const { password } = alice;
    for (const similar of [`${password} `, password.toUpperCase(), password.slice(0, -1)]) {
      expect((await login(alice.email, similar)).response?.status).toBe(401);
    }
  });

  test('responds to an unknown email address exactly as to a wrong password', async () => {
    const wrong = await login(alice.email, 'not her password');
    const unknown = await login('nobody@example.com', 'not her password');
    expect(wrong.error).toMatchObject({ status: 401, code: 'credentials_incorrect', errors: [] });
    expect(unknown.error).toEqual({ ...wrong.error, request_id: expect.any(String) });
    const headerNames = ({ response }: { response?: Response }) => [
      ...(response?.headers.keys() ?? []),
    ];
    expect(headerNames(unknown)).toEqual(headerNames(wrong));
    expect(wrong.response?.headers.get('www-authenticate')).toBe('Bearer');
  });

  test('does as much work for an unknown email address as for a wrong password', async () => {
    const least = { wrong: Number.POSITIVE_INFINITY, unknown: Number.POSITIVE_INFINITY };
    const measure = async (kind: keyof typeof least, email: string) => {
      // Of this process with all its threads. Other processes, which a busy machine has, do not change it.
      const start = process.cpuUsage();
      await login(email, 'not her password');
      const { user, system } = process.cpuUsage(start);
      least[kind] = Math.min(least[kind], user + system);
    };
    const isSimilar = () => Math.abs(Math.log(least.unknown / least.wrong)) < Math.log(1.5);
    // The maintenance thread and garbage collection add to some attempts.
    for (let i = 0; i < 5 || (i < 30 && !isSimilar()); i += 1) {
      await measure('wrong', alice.email);
      await measure('unknown', 'nobody@example.com');
    }
    // Without the verification of a dummy hash, it would be a fifth.
    expect(isSimilar(), JSON.stringify(least)).toBe(true);
  });
});
