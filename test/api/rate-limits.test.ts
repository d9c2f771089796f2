import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { Registration } from '../../generated/types.gen.ts';
import { transact } from '../../server/database/transaction.ts';
import { startApp, type TestApp } from '../support/app.ts';
import { avatarFile } from '../support/avatar.ts';
import type { TestUser } from '../support/client.ts';
import { damageOfCounters } from '../support/damaged-counters.ts';
import { isPostgresql } from '../support/databases.ts';
import { parseMetrics } from '../support/metrics.ts';
import { recordLog } from '../support/record-log.ts';
import { retryWhileUnavailable } from '../support/retry.ts';
import { useApp } from '../support/use-app.ts';

// With a trusted proxy, each test can use its own client addresses.
const settings = { RATE_LIMITS: 'on', TRUST_PROXY: '127.0.0.1' };
const app = useApp(settings);
afterEach(() => void vi.useRealTimers());

let addresses = 0;
const newAddress = () => `192.0.2.${++addresses}`;
const from = (address: string) => ({ 'x-forwarded-for': address });

interface Result {
  response?: Response;
  error?: unknown;
}

/** Counts the responses by status. */
const countByStatus = (results: Result[]) => {
  const counts: Record<number, number> = {};
  for (const { response } of results) {
    const status = response?.status ?? 0;
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
};

/**
 * Repeats a request, with at most 40 concurrently. More would overload the password hashing. On a busy machine, even 40
 * can get 503, which no limit counts.
 */
const repeat = async <T extends Result>(
  count: number,
  send: (i: number) => Promise<T>,
): Promise<T[]> => {
  const results: T[] = [];
  while (results.length < count) {
    const batch = Array.from({ length: Math.min(40, count - results.length) }, (_, i) =>
      retryWhileUnavailable(() => send(results.length + i)),
    );
    results.push(...(await Promise.all(batch)));
  }
  return results;
};

/** Checks a response with status 429 and a Retry-After of at most `maxSeconds`. */
const expectRateLimited = ({ error, response }: Result, maxSeconds: number) => {
  expect(error).toMatchObject({ status: 429, code: 'too_many_requests', errors: [] });
  const seconds = Number(response?.headers.get('retry-after'));
  expect(seconds).toBeGreaterThanOrEqual(1);
  expect(seconds).toBeLessThanOrEqual(maxSeconds);
  expect(error).toMatchObject({ detail: expect.stringContaining(`again in ${seconds} second`) });
  expect(response?.headers.get('ratelimit-remaining')).toBe('0');
  expect(Number(response?.headers.get('ratelimit-reset'))).toBeGreaterThanOrEqual(seconds);
};

const remaining = ({ response }: Result) =>
  `${response?.headers.get('ratelimit-remaining')} of ${response?.headers.get('ratelimit-limit')}`;

const login = (email: string, password: string, address: string, target = app) =>
  api.login({ client: target.client(), headers: from(address), body: { email, password } });

describe('Login', () => {
  test('reports the limit after each attempt: only failures count, until a success', async () => {
    const [{ email, password }, address] = [await app.register(), newAddress()];
    expect(remaining(await login(email, password, address))).toBe('30 of 30');
    expect(remaining(await login(email, 'a wrong one', address))).toBe('29 of 30');
    const failed = await login(email, 'a wrong one', address);
    expect(remaining(failed)).toBe('28 of 30');
    expect(Number(failed.response?.headers.get('ratelimit-reset'))).toBeGreaterThan(290);
    expect(remaining(await login(email, password, address))).toBe('30 of 30');
  });

  test('rejects attempts after 30 failures, for the same email address and client', async () => {
    const [user, other, address] = [await app.register(), await app.register(), newAddress()];
    // Concurrently, to check that attempts are counted before they fail.
    const results = await repeat(32, () => login(user.email, 'a wrong one', address));
    expect(countByStatus(results)).toEqual({ 401: 30, 429: 2 });
    expectRateLimited(await login(user.email.toUpperCase(), user.password, address), 300);

    expect((await login(other.email, other.password, address)).response?.status).toBe(200);
    expect((await login(user.email, user.password, newAddress())).response?.status).toBe(200);
    expect((await api.getProfile({ client: user.client })).response?.status).toBe(200);
  });

  test.runIf(isPostgresql)(
    'makes correct credentials wait at most a second during a burst',
    async () => {
      const [user, address] = [await app.register(), newAddress()];
      const attempts = Array.from({ length: 36 }, () =>
        retryWhileUnavailable(() => login(user.email, user.password, address)),
      );
      const results = await Promise.all(attempts);
      for (const each of results.filter(({ response }) => response?.status !== 200)) {
        expectRateLimited(each, 1);
      }
      expect(countByStatus(results)[200]).toBeGreaterThanOrEqual(30);
      expect((await login(user.email, user.password, address)).response?.status).toBe(200);
    },
  );

  // On SQLite, logins wait while another transaction holds the write lock, so the limit is reached for certain.
  test.skipIf(isPostgresql)(
    'makes correct credentials wait for a second while 30 attempts are pending',
    async () => {
      const [user, address] = [await app.register(), newAddress()];
      const { promise: released, resolve: release } = Promise.withResolvers<void>();
      const holding = transact(app.context.engine, () => released);
      const rejected: Result[] = [];
      const attempts = Array.from({ length: 36 }, async () => {
        const result = await retryWhileUnavailable(() => login(user.email, user.password, address));
        if (result.response?.status === 429) rejected.push(result);
        return result;
      });
      try {
        await expect.poll(() => rejected.length).toBe(6);
      } finally {
        release();
        await holding;
      }
      for (const each of rejected) expectRateLimited(each, 1);
      expect(countByStatus(await Promise.all(attempts))).toEqual({ 200: 30, 429: 6 });
      expect((await login(user.email, user.password, address)).response?.status).toBe(200);
    },
  );

  test('ignores failures that were counted while the system clock was ahead', async () => {
    const [user, address] = [await app.register(), newAddress()];
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 86_400_000 });
    await repeat(31, () => login(user.email, 'a wrong one', address));
    vi.useRealTimers();
    expect((await login(user.email, user.password, address)).response?.status).toBe(200);
  });

  test('counts failures for unknown email addresses', async () => {
    const address = newAddress();
    const results = await repeat(31, () => login('nobody@example.com', 'a wrong one', address));
    expect(countByStatus(results)).toEqual({ 401: 30, 429: 1 });
  });

  test('does not count successes, and resets the counter after one', async () => {
    const [{ email, password }, address] = [await app.register(), newAddress()];
    await repeat(3, () => login(email, 'a wrong one', address));
    expect(remaining(await login(email, 'a wrong one', address))).toBe('26 of 30');
    expect((await login(email, password, address)).response?.status).toBe(200);
    expect(remaining(await login(email, 'a wrong one', address))).toBe('29 of 30');
  });

  test('does not count invalid requests', async () => {
    const [{ email }, address] = [await app.register(), newAddress()];
    const results = await repeat(35, () => login(email, '', address));
    expect(countByStatus(results)).toEqual({ 400: 35 });
    expect(remaining(await login(email, 'a wrong one', address))).toBe('29 of 30');
  });
});

describe('Login from many addresses', () => {
  /** Sends failing logins, each from its own network, so that only the account has many failures. */
  const failLogins = (email: string, count: number) =>
    repeat(count, (i) => login(email, 'a wrong one', `2001:db8:${i.toString(16)}::1`));
  const timed = async (call: Promise<Result>) => {
    const startedAt = performance.now();
    const { response } = await call;
    return { status: response?.status, seconds: (performance.now() - startedAt) / 1000 };
  };

  test('rejects attempts after 50 failures, for the same email address and /48 block', async () => {
    const user = await app.register();
    const inBlock = (i: number) => `2001:db8:aaaa:${i.toString(16)}::1`;
    const results = await repeat(60, (i) => login(user.email, 'a wrong one', inBlock(i)));
    expect(countByStatus(results)).toEqual({ 401: 50, 429: 10 });
    expect((await login(user.email, user.password, inBlock(99))).response?.status).toBe(429);
    const elsewhere = await login(user.email, user.password, '2001:db8:bbbb::1');
    expect(elsewhere.response?.status).toBe(200);
  });

  test('delays logins to an account with many failures by at most 2 seconds, but never rejects them', async () => {
    const [user, other] = [await app.register(), await app.register()];
    expect(countByStatus(await failLogins(user.email, 80))).toEqual({ 401: 80 });
    const correct = await timed(login(user.email, user.password, newAddress()));
    expect(correct.status).toBe(200);
    expect(correct.seconds).toBeGreaterThan(1.9);
    expect(correct.seconds).toBeLessThan(4);
    // A success does not end the delays, because the attacker may continue.
    const wrong = await timed(login(user.email, 'a wrong one', newAddress()));
    expect(wrong.status).toBe(401);
    expect(wrong.seconds).toBeGreaterThan(1.9);

    // Delayed logins do not wait in the queue for password hashing.
    const delayed = Array.from({ length: 10 }, (_, i) =>
      login(user.email, 'a wrong one', `2001:db8:cccc:${i}::1`),
    );
    const undelayed = await timed(login(other.email, other.password, newAddress()));
    expect(undelayed.status).toBe(200);
    expect(undelayed.seconds).toBeLessThan(1.5);
    expect(countByStatus(await Promise.all(delayed))).toEqual({ 401: 10 });
  });

  test('delays logins to unknown email addresses, too', async () => {
    await failLogins('unknown@example.com', 75);
    const next = await timed(login('unknown@example.com', 'a wrong one', newAddress()));
    expect(next.status).toBe(401);
    expect(next.seconds).toBeGreaterThan(1.9);
  });

  test('counts failed and delayed logins in the metrics', async () => {
    await using measured = await startApp({ ...settings, METRICS_TOKEN: 'sesame' });
    const attempt = (i: number) => {
      const address = `2001:db8:${i.toString(16)}::1`;
      return login('nobody@example.com', 'a wrong one', address, measured);
    };
    await repeat(50, attempt);
    // Only the second of these is delayed: logins are delayed after more than 50 failures.
    for (const i of [50, 51]) await attempt(i);
    const response = await measured.fetch('/metrics', {
      headers: { authorization: 'Bearer sesame' },
    });
    const figure = parseMetrics(await response.text());
    expect(figure('space_service_failed_logins_total')).toBe(52);
    expect(figure('space_service_delayed_logins_total')).toBe(1);
  });
});

describe('Registration', () => {
  const register = (address: string, registration: Partial<Registration> = {}) =>
    api.register({
      client: app.client(),
      headers: from(address),
      body: {
        username: 'admin',
        email: 'admin@example.com',
        password: 'a long and winding road',
        ...registration,
      },
    });

  test('rejects requests after 60 per minute and client, including those for reserved usernames', async () => {
    const address = newAddress();
    const first = await register(address, { username: 'first', email: 'first@example.com' });
    expect(first.response?.status).toBe(201);
    expect(remaining(first)).toBe('59 of 60');
    expect(countByStatus(await repeat(61, () => register(address)))).toEqual({ 409: 59, 429: 2 });
    expectRateLimited(
      await register(address, { username: 'patient', email: 'patient@example.com' }),
      60,
    );
    const other = await register(newAddress(), { username: 'other', email: 'other@example.com' });
    expect(other.response?.status).toBe(201);
  });

  test('does not count invalid requests of any kind', async () => {
    const address = newAddress();
    const invalid = [
      { username: 'x' },
      { username: 'zеbra' },
      { username: 'zebra', password: 'password' },
      { username: 'zebra.zebra', password: 'zebra.zebra' },
    ];
    const results = await repeat(80, (i) => register(address, invalid[i % invalid.length]));
    expect(countByStatus(results)).toEqual({ 400: 80 });
    expect(remaining(await register(address))).toBe('59 of 60');
  });

  test('counts the addresses of an IPv6 /64 block as one client', async () => {
    expect(remaining(await register('2001:db8:1:2::1'))).toBe('59 of 60');
    expect(remaining(await register('2001:db8:1:2:ffff::9'))).toBe('58 of 60');
    expect(remaining(await register('2001:db8:1:3::1'))).toBe('59 of 60');
    expect(remaining(await register('::ffff:203.0.113.9'))).toBe('59 of 60');
    expect(remaining(await register('203.0.113.9'))).toBe('58 of 60');
  });
});

describe('Changing the username', () => {
  const change = ({ client }: TestUser, username: string) =>
    api.changeUsername({ client, body: { username } });

  test('rejects requests after 20 in 5 minutes, for the same account and operation', async () => {
    const [user, other] = [await app.register(), await app.register()];
    const invalid = await repeat(25, (i) => change(user, i % 2 ? 'x' : 'zеbra'));
    expect(countByStatus(invalid)).toEqual({ 400: 25 });
    const first = await change(user, 'restless');
    expect(remaining(first)).toBe('19 of 20');
    const results = await repeat(20, (i) => change(user, i % 2 ? 'restless' : 'admin'));
    expect(countByStatus(results)).toEqual({
      200: expect.any(Number),
      409: expect.any(Number),
      429: 1,
    });
    expectRateLimited(await change(user, 'restless'), 300);

    const { client } = user;
    expect((await api.changeBio({ client, body: { bio: 'Here' } })).response?.status).toBe(200);
    expect((await change(other, 'steady')).response?.status).toBe(200);
  });
});

describe('Changing the avatar', () => {
  const change = ({ client }: TestUser, avatar: Blob) =>
    api.changeProfilePicture({ client, body: { avatar } });

  test('rejects requests after 60 in 30 minutes, for the same account', async () => {
    const [user, other] = [await app.register(), await app.register()];
    const avatar = await avatarFile();
    expect(remaining(await change(user, avatar))).toBe('59 of 60');
    // Rejected uploads count, too: invalid forms and files of an unsupported type.
    const rejected = await repeat(59, (i) => change(user, new Blob(i % 2 ? [] : ['no avatar'])));
    expect(countByStatus(rejected)).toEqual({ 400: 29, 415: 30 });
    expectRateLimited(await change(user, avatar), 1800);
    const { client } = user;
    expect((await api.removeProfilePicture({ client })).response?.status).toBe(200);
    expect((await change(other, avatar)).response?.status).toBe(200);
  });
});

describe('Changing the password', () => {
  const newPassword = 'staple of the north wind';
  const change = (client: TestUser['client'], currentPassword: string, password = newPassword) =>
    api.changePassword({ client, body: { currentPassword, newPassword: password } });

  test('accepts the correct password after 90 wrong ones, and resets the counter', async () => {
    const { client, password } = await app.register();
    expect(countByStatus(await repeat(90, () => change(client, 'a wrong one')))).toEqual({
      403: 90,
    });
    expect((await change(client, password)).response?.status).toBe(200);
    expect(countByStatus(await repeat(11, () => change(client, 'a wrong one')))).toEqual({
      403: 11,
    });
    expect((await change(client, newPassword, password)).response?.status).toBe(200);
  });

  test('does not count an invalid new password, even after 100 wrong current ones', async () => {
    const { client, password } = await app.register();
    await repeat(100, () => change(client, 'a wrong one'));
    expect((await change(client, password, 'password')).response?.status).toBe(400);
    expect((await change(client, password)).response?.status).toBe(200);
  });

  test('allows one wrong password every 5 seconds after 100, without locking the account', async () => {
    const { client, email, password } = await app.register();
    const invalid = await repeat(105, () => change(client, 'a wrong one', 'password'));
    expect(countByStatus(invalid)).toEqual({ 400: 105 });
    const results = await repeat(103, () => change(client, 'a wrong one'));
    expect(countByStatus(results)).toEqual({ 403: 101, 429: 2 });
    for (const result of results) if (result.response?.status === 429) expectRateLimited(result, 5);

    // Everything else works, in this session and in others.
    expect((await api.getProfile({ client })).response?.status).toBe(200);
    const login = await api.login({ client: app.client(), body: { email, password } });
    expect(login.response?.status).toBe(200);
    const other = app.client(login.data?.access_token);
    expect((await change(other, password)).response?.status).toBe(200);
  });
});

test('Processes with the same data share the counters', async () => {
  await using second = await startApp(settings, { sharesDataOf: app });
  const headers = from(newAddress());
  const body = { email: 'shared@example.com', password: 'a wrong one' };
  const first = await api.login({ client: app.client(), headers, body });
  expect(remaining(first)).toBe('29 of 30');
  const next = await api.login({ client: second.client(), headers, body });
  expect(remaining(next)).toBe('28 of 30');
});

// SQLite has a file for the counters.
test.skipIf(isPostgresql)(
  'The counters are stored without email addresses and client addresses',
  async () => {
    const { email } = await app.register('recognisable');
    await api.login({ client: app.client(), body: { email, password: 'a wrong one' } });

    const folder = app.context.config.dataDir;
    const files = ['limits.sqlite', 'limits.sqlite-wal'].map((name) =>
      readFile(join(folder, name)),
    );
    const bytes = Buffer.concat(await Promise.all(files));
    expect(bytes.length).toBeGreaterThan(0);
    expect(bytes.includes('recognisable')).toBe(false);
    expect(bytes.includes('127.0.0.1')).toBe(false);
  },
);

test.skipIf(isPostgresql)(
  'The keys of the counters cannot be computed from an email address and a client',
  async () => {
    const address = newAddress();
    const failLogin = async (target: TestApp) => {
      await login('guessed@example.com', 'a wrong one', address, target);
      const sqlite = new Sqlite(join(target.context.config.dataDir, 'limits.sqlite'));
      const keys = sqlite.prepare('SELECT key FROM login').pluck().all() as string[];
      sqlite.close();
      expect(keys.length).toBeGreaterThan(0);
      return keys;
    };
    const keys = await failLogin(app);
    await using other = await startApp(settings);
    for (const key of await failLogin(other)) expect(keys).not.toContain(key);
    const guess = createHash('sha256').update(`guessed@example.com ${address}`).digest('base64url');
    expect(keys).not.toContain(guess);
  },
);

describe.skipIf(isPostgresql)('Damaged counters', () => {
  const failLogin = (target: TestApp, address = '192.0.2.1') =>
    login('damaged@example.com', 'a wrong one', address, target);
  /** Moves the counts from the write-ahead log into the file. */
  function checkpoint(file: string): void {
    const sqlite = new Sqlite(file);
    sqlite.pragma('wal_checkpoint(TRUNCATE)');
    sqlite.close();
  }

  /** Starts an application that collects its warnings. */
  async function startLogged({
    dataDir,
    runsMaintenance = true,
  }: {
    dataDir: string;
    runsMaintenance?: boolean;
  }) {
    const { log, lines } = recordLog<{ msg: string }>('warn');
    const started = await startApp({ ...settings, DATA_DIR: dataDir }, { log, runsMaintenance });
    return { started, warnings: () => lines.map(({ msg }) => msg) };
  }

  const temporaryFolder = async (cleanup: AsyncDisposableStack) => {
    const dataDir = await mkdtemp(join(tmpdir(), 'limits-'));
    cleanup.defer(() => rm(dataDir, { recursive: true }));
    return { dataDir, file: join(dataDir, 'limits.sqlite') };
  };

  // Other damage: see the tests of the file in test/database/.
  test('are reset at the start, with a warning', async () => {
    await using cleanup = new AsyncDisposableStack();
    const { dataDir, file } = await temporaryFolder(cleanup);
    {
      await using first = (await startLogged({ dataDir })).started;
      await failLogin(first);
    }
    await truncate(file, 1_000);
    const { started, warnings } = await startLogged({ dataDir });
    cleanup.use(started);
    expect(remaining(await failLogin(started))).toBe('29 of 30');
    expect(warnings()).toEqual(['the counters of rate limits were damaged and have been reset']);
  });

  describe('while two processes run', () => {
    let first: TestApp;
    let second: TestApp;
    const cleanup = new AsyncDisposableStack();
    let file: string;
    beforeAll(async () => {
      const folder = await temporaryFolder(cleanup);
      file = folder.file;
      const { dataDir } = folder;
      first = cleanup.use((await startLogged({ dataDir })).started);
      second = cleanup.use((await startLogged({ dataDir, runsMaintenance: false })).started);
    });
    afterAll(() => cleanup.disposeAsync());

    test.each(damageOfCounters)('are reset in both if the file is %s', async (_, change) => {
      const address = newAddress();
      await failLogin(first, address);
      await failLogin(second, address);
      checkpoint(file);
      await change(file);
      const results = [
        await failLogin(first, address),
        await failLogin(second, address),
        await failLogin(first, address),
      ];
      expect(results.map(({ response }) => response?.status)).toEqual([401, 401, 401]);
      const before = Number(results[0]?.response?.headers.get('ratelimit-remaining'));
      // The changed bytes may be cached, so that the first process still counts in the old file.
      expect(before).toBeGreaterThanOrEqual(27);
      expect((await fetch(`${first.url}/readyz`)).status).toBe(200);
      await first.context.housekeeping.run();
      const next = await failLogin(first, address);
      expect(remaining(await failLogin(second, address))).toBe(
        `${Number(next.response?.headers.get('ratelimit-remaining')) - 1} of 30`,
      );
    });
  });
});
