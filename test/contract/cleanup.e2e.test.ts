import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import { InterruptedError } from '../../verification/server.ts';
import { startApp, type TestApp } from '../support/app.ts';
import { type RunningProcess, startProcess } from '../support/processes.ts';
import { createSpace } from '../support/spaces.ts';
import { type ProxiedExchange, startProxy } from './proxy.ts';
import { startServers } from './servers.ts';

let app: TestApp;
beforeEach(async () => {
  app = await startApp();
});
afterEach(() => app[Symbol.asyncDispose]());

const readUsernames = async () => {
  const users = await app.context.engine.db.selectFrom('users').select('username').execute();
  return users.map(({ username }) => username);
};

const contractCheck = (...args: string[]) =>
  startProcess(process.execPath, ['verification/main.ts', ...args]);

/**
 * Starts a proxy that counts the requests with the same method and path.
 * @param change receives each response; the method and path as `request`, such as `POST /api/spaces`; and the count as
 *   `n`, which begins at 1
 */
function startCountingProxy(
  change: (exchange: ProxiedExchange, request: string, n: number) => void,
) {
  const counts = new Map<string, number>();
  return startProxy(app.url, (exchange) => {
    const request = `${exchange.method} ${exchange.path}`;
    const n = (counts.get(request) ?? 0) + 1;
    counts.set(request, n);
    change(exchange, request, n);
  });
}

const fail = (exchange: ProxiedExchange) => {
  exchange.status = 503;
  exchange.headers.set('content-type', 'application/json');
  exchange.body = '{}';
};

describe('The contract check deletes its accounts and exits with code 2 after', () => {
  test.each([
    {
      signal: 'SIGINT',
      during: 'the first registration',
      request: 'POST /api/auth/register',
      n: 1,
    },
    { signal: 'SIGINT', during: 'a later registration', request: 'POST /api/auth/register', n: 3 },
    { signal: 'SIGTERM', during: 'the creation of a space', request: 'POST /api/spaces', n: 2 },
    {
      signal: 'SIGINT',
      during: 'a check of a registration',
      // The first five registrations create the test data.
      request: 'POST /api/auth/register',
      n: 8,
    },
    { signal: 'SIGINT', during: 'the checks', request: 'PUT /api/profile/bio', n: 1 },
  ] as const)('$signal during $during', async ({ signal, request: interrupted, n: at }) => {
    let check: RunningProcess | undefined;
    let requests = 0;
    await using proxy = await startCountingProxy((_exchange, request, n) => {
      requests += 1;
      if (request === interrupted && n === at) check?.child.kill(signal);
    });
    check = contractCheck(proxy.url);
    const { code, stdout, stderr } = await check.result;
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: 'Interrupted. Deleting the test data; a second signal leaves it on the server.\n',
    });
    expect(stdout).not.toContain('passed');
    expect(requests).toBeGreaterThan(at);
    expect(await readUsernames()).toEqual([]);
  });

  test('SIGINT during the login to an existing account, which keeps no new session', async () => {
    const { client, email, password } = await app.register('ada');
    let check: RunningProcess | undefined;
    await using proxy = await startCountingProxy((_exchange, request, n) => {
      if (request === 'POST /api/auth/login' && n === 1) check?.child.kill('SIGINT');
    });
    check = contractCheck(proxy.url, '--email', email, '--password', password);
    expect((await check.result).code).toBe(2);
    const { data: sessions } = await api.listSessions({ client });
    expect(sessions).toMatchObject([{ is_current: true }]);
    expect(await readUsernames()).toEqual(['ada']);
  });

  test.each([
    { failure: 'a lost response to a registration', request: 'POST /api/auth/register', n: 2 },
    { failure: 'an error while it creates a space', request: 'POST /api/spaces', n: 2 },
  ])('$failure', async ({ request: failing, n: at }) => {
    await using proxy = await startCountingProxy((exchange, request, n) => {
      if (request === failing && n === at) fail(exchange);
    });
    const { code, stderr } = await contractCheck(proxy.url).result;
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: `Could not create the test data: ${failing} returned 503 application/json {}\n`,
    });
    expect(await readUsernames()).toEqual([]);
  });
});

test('The contract check deletes its accounts if Ctrl+C interrupts it while it deletes them', async () => {
  let check: RunningProcess | undefined;
  let deletions = 0;
  await using proxy = await startProxy(app.url, ({ method, status, path }) => {
    if (method !== 'DELETE' || path !== '/api/profile/account' || status !== 200) return;
    deletions += 1;
    // The checks cause the first two deletions, the clean-up all others.
    if (deletions !== 3) return;
    // The terminal and npm can both send a signal. Two equal ones could merge into one.
    check?.child.kill('SIGINT');
    check?.child.kill('SIGTERM');
  });
  check = contractCheck(proxy.url, '--only', 'register,login,deleteAccount');
  const { code, stdout, stderr } = await check.result;
  expect(stderr).toBe(
    'Interrupted. Deleting the test data; a second signal leaves it on the server.\n',
  );
  expect(deletions).toBeGreaterThan(4);
  expect(stdout).toMatch(/ passed, 0 failed\n$/);
  expect(code).toBe(0);
  expect(await readUsernames()).toEqual([]);
});

test('A second Ctrl+C ends the contract check, and leaves its accounts', async () => {
  let check: RunningProcess | undefined;
  await using proxy = await startProxy(app.url, async ({ method, path }) => {
    if (method === 'POST' && path === '/api/spaces') check?.child.kill('SIGINT');
    // Never resolves.
    if (method === 'DELETE') await new Promise(() => {});
  });
  check = contractCheck(proxy.url);
  await expect.poll(() => check?.output()).toContain('Interrupted.');
  // Signals within a second count as one.
  await sleep(1_500);
  check.child.kill('SIGINT');
  expect(await check.exited).toBe('SIGINT');
  expect(await readUsernames()).not.toEqual([]);
});

test('Without a URL, the contract check starts no further servers after an interruption', async () => {
  await using cleanup = new AsyncDisposableStack();
  const interruption = AbortSignal.abort(new InterruptedError());
  await expect(startServers(cleanup, interruption)).rejects.toBeInstanceOf(InterruptedError);
});

test('The contract check lists the remaining accounts if the server stops before all test data exists', async () => {
  let stopped: Promise<void> | undefined;
  const proxy = await startCountingProxy((_exchange, request) => {
    if (request === 'POST /api/spaces') stopped ??= Promise.resolve(proxy[Symbol.asyncDispose]());
  });
  const { code, stderr } = await contractCheck(proxy.url).result;
  await stopped;
  expect(code).toBe(2);
  const usernames = await readUsernames();
  expect(usernames).toHaveLength(2);
  const [first, second, ...lines] = stderr.split('\n');
  expect(first).toBe('Could not create the test data: connection closed by the server');
  expect(second).toMatch(
    new RegExp(`^These accounts could not be deleted from ${proxy.url}: .* The operator of the`),
  );
  for (const each of usernames) expect(second).toContain(`${each}@example.com`);
  expect(lines).toEqual(['']);
});

describe('After a check with an existing account', () => {
  const OPTIONS = ['--only', 'register,login,deleteAccount,createSpace,changeUsername,changeBio'];

  async function checkAs(change: (exchange: ProxiedExchange) => void) {
    const user = await app.register('ada');
    const { client, email, password } = user;
    await api.changeBio({ client, body: { bio: 'I bake.' } });
    const { space_id } = await createSpace(user, { title: 'Mountains' });
    await using proxy = await startProxy(app.url, change);
    const args = [proxy.url, '--email', email, '--password', password, ...OPTIONS];
    const { code, stdout, stderr } = await contractCheck(...args).result;
    expect(stderr).toBe('');
    // The report wraps lines.
    const report = stdout.replaceAll(/\s+/g, ' ');
    const { data: profile } = await api.getProfile({ client });
    const { data: participations = [] } = await api.listParticipations({ client });
    const spaces = participations.map(({ space }) => space.space_id);
    const { data: sessions } = await api.listSessions({ client });
    return { code, report, profile, spaces, sessions, space_id, email };
  }

  test('only the account remains, as it was', async () => {
    const { code, profile, spaces, sessions, space_id } = await checkAs(() => {});
    expect(code).toBe(0);
    expect(profile).toMatchObject({ username: 'ada', bio: 'I bake.' });
    expect(spaces).toEqual([space_id]);
    expect(sessions).toMatchObject([{ is_current: true }]);
    expect(await readUsernames()).toEqual(['ada']);
  });

  test.each([
    {
      step: 'restoring the username',
      request: /^PUT \/api\/profile\/username$/,
      body: /"ada"/,
      problem: 'PUT /api/profile/username returned 503. Change its username to "ada".',
    },
    {
      step: 'restoring the bio',
      request: /^PUT \/api\/profile\/bio$/,
      body: /I bake/,
      problem: 'PUT /api/profile/bio returned 503. Change its bio to "I bake.".',
    },
    {
      step: 'deleting its new spaces',
      request: /^DELETE \/api\/spaces\//,
      body: /^$/,
      problem: /DELETE \/api\/spaces\/\S+ ?\S* returned 503. Delete its space /,
    },
    {
      step: 'ending its session',
      request: /^POST \/api\/auth\/logout$/,
      body: /^$/,
      problem: 'POST /api/auth/logout returned 503. Log out of all its sessions.',
    },
  ])(
    'a failure of $step is reported, and everything else is restored',
    async ({ request, body, problem }) => {
      const isFailing = ({ method, path, requestBody }: ProxiedExchange) =>
        request.test(`${method} ${path}`) && body.test(requestBody);
      const attempts: ProxiedExchange[] = [];
      const outcome = await checkAs((exchange) => {
        if (!isFailing(exchange)) return;
        attempts.push(exchange);
        fail(exchange);
      });
      expect(attempts.length).toBeGreaterThan(0);
      expect(outcome.code).toBe(1);
      expect(outcome.report).toContain(`Restoring the account ${outcome.email} failed: `);
      expect(outcome.report).toMatch(problem);
      expect(outcome.report).not.toContain('could not be deleted');
      // The requests that failed for the check reached the server.
      expect(outcome.profile).toMatchObject({ username: 'ada', bio: 'I bake.' });
      expect(outcome.spaces).toEqual([outcome.space_id]);
      expect(outcome.sessions).toMatchObject([{ is_current: true }]);
      expect(await readUsernames()).toEqual(['ada']);
    },
  );

  test('everything that remains is reported if the server fails at the end', async () => {
    let isRestoring = false;
    const outcome = await checkAs((exchange) => {
      // The first request after the checks.
      if (
        exchange.path === '/api/participations?limit=100' &&
        exchange.body.includes('Sourdough')
      ) {
        isRestoring = true;
      }
      if (isRestoring) fail(exchange);
    });
    expect(isRestoring).toBe(true);
    expect(outcome.code).toBe(1);
    for (const remedy of ['to "ada"', 'to "I bake."', 'Delete the spaces', 'Log out of']) {
      expect(outcome.report).toContain(remedy);
    }
    const others = (await readUsernames()).filter((each) => each !== 'ada');
    for (const each of others) expect(outcome.report).toContain(`${each}@example.com`);
  });
});
