import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { Credentials } from '../../verification/accounts.ts';
import { InterruptedError, prepareServer } from '../../verification/server.ts';
import { verify } from '../../verification/verify.ts';
import { CleanupError, openWorld } from '../../verification/world.ts';
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

/** Starts the command, for what only a process shows: signals, exit codes and output. */
const startCommand = (...args: string[]) =>
  startProcess(process.execPath, ['verification/main.ts', ...args]);

interface Options {
  credentials?: Credentials;
  interruption?: AbortSignal;
}

/** Creates the test data on a server, checks `register` and deletes the data. */
async function checkRegister(url: string, { credentials, interruption }: Options = {}) {
  await using cleanup = new AsyncDisposableStack();
  const servers = await prepareServer(url, credentials, cleanup, interruption);
  const isSelected = (operationId: string) => operationId === 'register';
  return await verify(servers, cleanup, isSelected, interruption);
}

/**
 * Starts a proxy that counts the requests of each operation.
 * @param change receives each response, the operation, and the count, which begins at 1
 */
function startCountingProxy(
  change: (exchange: ProxiedExchange, operationId: string, n: number) => void,
) {
  const counts = new Map<string, number>();
  return startProxy(app.url, (exchange) => {
    const { operationId = 'unknown' } = exchange;
    const n = (counts.get(operationId) ?? 0) + 1;
    counts.set(operationId, n);
    change(exchange, operationId, n);
  });
}

/** Starts a proxy that interrupts the check during a request of an operation. */
async function startInterruptingProxy(interrupted: string, at: number) {
  const controller = new AbortController();
  const proxy = await startCountingProxy((_exchange, operationId, n) => {
    if (operationId === interrupted && n === at) controller.abort(new InterruptedError());
  });
  return Object.assign(proxy, { interruption: controller.signal });
}

const fail = (exchange: ProxiedExchange) => {
  exchange.status = 503;
  exchange.headers.set('content-type', 'application/json');
  exchange.body = '{}';
};

describe('The contract check deletes its accounts after', () => {
  test.each([
    { during: 'the first registration', operationId: 'register', n: 1 },
    { during: 'a later registration', operationId: 'register', n: 3 },
    { during: 'the creation of a space', operationId: 'createSpace', n: 2 },
    // The first five registrations create the test data.
    { during: 'a check of a registration', operationId: 'register', n: 6 },
  ])('an interruption during $during', async ({ operationId, n }) => {
    await using proxy = await startInterruptingProxy(operationId, n);
    await expect(checkRegister(proxy.url, proxy)).rejects.toBeInstanceOf(InterruptedError);
    expect(await readUsernames()).toEqual([]);
  });

  test('an interruption during the login to an existing account, which keeps no new session', async () => {
    const { client, ...credentials } = await app.register('ada');
    await using proxy = await startInterruptingProxy('login', 1);
    const { interruption } = proxy;
    await expect(checkRegister(proxy.url, { credentials, interruption })).rejects.toBeInstanceOf(
      InterruptedError,
    );
    const { data: sessions } = await api.listSessions({ client });
    expect(sessions?.items).toMatchObject([{ is_current: true }]);
    expect(await readUsernames()).toEqual(['ada']);
  });

  test.each([
    { failure: 'a lost response to a registration', operationId: 'register' },
    { failure: 'an error while it creates a space', operationId: 'createSpace' },
  ])('$failure, which hides no other result', async ({ operationId: failing }) => {
    await using proxy = await startCountingProxy((exchange, operationId, n) => {
      if (operationId === failing && n === 2) fail(exchange);
    });
    const { checks, blocked } = await checkRegister(proxy.url);
    const failed = checks.filter(({ causes }) => causes.length > 0).map(({ name }) => name);
    // Only checks of registrations run. One of them needs the account, and none needs the space.
    expect(failed).toEqual(failing === 'register' ? ['register for the test data'] : []);
    expect([...blocked.keys()]).toEqual(failing === 'register' ? ['register 409'] : []);
    expect(checks.map(({ name }) => name)).toContain('register 201');
    expect(await readUsernames()).toEqual([]);
  });

  test('a signal, which is reported with exit code 2', async () => {
    let check: RunningProcess | undefined;
    await using proxy = await startCountingProxy((_exchange, operationId) => {
      if (operationId === 'changeBio') check?.child.kill('SIGTERM');
    });
    check = startCommand(proxy.url, '--only', 'changeBio');
    const { code, stdout, stderr } = await check.result;
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: 'Interrupted. Deleting the test data; a second signal leaves it on the server.\n',
    });
    expect(stdout).not.toContain('passed');
    expect(await readUsernames()).toEqual([]);
  });
});

test('The contract check deletes its accounts if Ctrl+C interrupts it while it deletes them', async () => {
  let check: RunningProcess | undefined;
  let deletions = 0;
  // The checks of login delete no account, so all deletions are those of the clean-up.
  await using proxy = await startCountingProxy((_exchange, operationId, n) => {
    if (operationId !== 'deleteAccount') return;
    deletions = n;
    if (n !== 1) return;
    // The terminal and npm can both send a signal. Two equal ones could merge into one.
    check?.child.kill('SIGINT');
    check?.child.kill('SIGTERM');
  });
  check = startCommand(proxy.url, '--only', 'login');
  const { code, stdout, stderr } = await check.result;
  expect(stderr).toBe(
    'Interrupted. Deleting the test data; a second signal leaves it on the server.\n',
  );
  expect(deletions).toBeGreaterThan(2);
  expect(stdout).toMatch(/ passed, 0 failed\n$/);
  expect(code).toBe(0);
  expect(await readUsernames()).toEqual([]);
});

test('A second Ctrl+C ends the contract check, and leaves its accounts', async () => {
  let check: RunningProcess | undefined;
  await using proxy = await startProxy(app.url, async ({ operationId }) => {
    if (operationId === 'createSpace') check?.child.kill('SIGINT');
    // Never resolves.
    if (operationId === 'deleteAccount') await new Promise(() => {});
  });
  check = startCommand(proxy.url);
  await expect.poll(() => check?.output()).toContain('Interrupted.');
  // Signals within a second count as one.
  await sleep(1_100);
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
  const proxy = await startCountingProxy((_exchange, operationId) => {
    if (operationId === 'createSpace') stopped ??= Promise.resolve(proxy[Symbol.asyncDispose]());
  });
  const { code, stderr } = await startCommand(proxy.url).result;
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
  const registerAda = async () => {
    const user = await app.register('ada');
    await api.changeBio({ client: user.client, body: { bio: 'I bake.' } });
    const { space_id } = await createSpace(user, { title: 'Mountains' });
    return { ...user, space_id };
  };

  const checkCommand = ({ email, password }: Credentials, url: string) =>
    startCommand(
      ...[url, '--email', email, '--password', password],
      ...['--only', 'createSpace,changeUsername,changeBio'],
    ).result;

  /** Expects that the account is as it was before the check. */
  async function expectRestored({ client, space_id }: Awaited<ReturnType<typeof registerAda>>) {
    const { data: profile } = await api.getProfile({ client });
    const { data: participations } = await api.listParticipations({ client });
    const { data: sessions } = await api.listSessions({ client });
    expect(profile).toMatchObject({ username: 'ada', bio: 'I bake.' });
    expect(participations?.items.map(({ space }) => space.space_id)).toEqual([space_id]);
    expect(sessions?.items).toMatchObject([{ is_current: true }]);
    expect(await readUsernames()).toEqual(['ada']);
  }

  test('only the account remains, even if the server has no limit for headers and deletes accounts', async () => {
    const user = await registerAda();
    await using proxy = await startProxy(
      app.url,
      () => {},
      (headers) => headers.delete('x-padding'),
    );
    const { code, stdout, stderr } = await startCommand(
      ...[proxy.url, '--email', user.email, '--password', user.password],
      ...['--only', 'deleteAccount,logout,endSession,register,changeUsername'],
    ).result;
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    // The first cause, and no others that follow from it.
    expect(stdout).toContain('FAILED  Wrong status: 200 instead of 431');
    expect(stdout).toMatch(/\b5 failed$/m);
    await expectRestored(user);
  });

  test('only the account remains, as it was', async () => {
    const user = await registerAda();
    const changed: (string | undefined)[] = [];
    await using proxy = await startProxy(app.url, ({ operationId, status }) => {
      if (status < 300) changed.push(operationId);
    });
    const { code, stderr } = await checkCommand(user, proxy.url);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(changed).toEqual(expect.arrayContaining(['createSpace', 'changeUsername', 'changeBio']));
    await expectRestored(user);
  });

  test.each([
    {
      step: 'restoring the username',
      operationId: 'changeUsername',
      problem: /PUT \/api\/profile\/username returned 503\. Change its username to "ada"\.$/,
    },
    {
      step: 'restoring the bio',
      operationId: 'changeBio',
      problem: /PUT \/api\/profile\/bio returned 503\. Change its bio to "I bake\."\.$/,
    },
    {
      step: 'deleting its new spaces',
      operationId: 'deleteSpace',
      problem: /DELETE \/api\/spaces\/\S+ returned 503\. Delete its space \S+\.$/,
    },
    {
      step: 'ending its session',
      operationId: 'logout',
      problem: /POST \/api\/auth\/logout returned 503\. Log out of all its sessions\.$/,
    },
  ])(
    'a failure of $step is reported, and everything else is restored',
    async ({ operationId, problem }) => {
      const user = await registerAda();
      await using proxy = await startProxy(app.url, (exchange) => {
        if (exchange.operationId === operationId) fail(exchange);
      });
      const world = await openWorld(proxy.url, user);
      const { client } = user;
      await api.changeUsername({ client, body: { username: 'grace' }, throwOnError: true });
      await api.changeBio({ client, body: { bio: 'I do not.' }, throwOnError: true });
      const error: unknown = await world.close().catch((reason) => reason);
      expect(error).toBeInstanceOf(CleanupError);
      const { problems } = error as CleanupError;
      expect(problems).not.toEqual([]);
      for (const each of problems) {
        expect(each).toMatch(problem);
        expect(each).toContain(`Restoring the account ${user.email} failed: `);
      }
      // The requests that failed for the check reached the server.
      await expectRestored(user);
    },
  );

  test('everything that remains is reported if the server fails at the end', async () => {
    const user = await registerAda();
    let isRestoring = false;
    await using proxy = await startProxy(app.url, (exchange) => {
      // The first request after the checks.
      const isLater =
        exchange.operationId === 'listParticipations' && exchange.body.includes('Sourdough');
      isRestoring ||= isLater;
      if (isRestoring) fail(exchange);
    });
    const { code, stdout, stderr } = await checkCommand(user, proxy.url);
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    // The report wraps lines.
    const report = stdout.replaceAll(/\s+/g, ' ');
    for (const remedy of ['to "ada"', 'to "I bake."', 'Delete the spaces', 'Log out of']) {
      expect(report).toContain(remedy);
    }
    expect(report).toMatch(
      /These accounts could not be deleted from \S+ (contract-\w+@example\.com, )+/,
    );
  });
});
