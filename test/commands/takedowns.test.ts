import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { avatarFile } from '../support/avatar.ts';
import { runCommand } from '../support/commands.ts';
import { type Server, startServer } from '../support/server.ts';
import { spaceCreation } from '../support/spaces.ts';

const PASSWORD = 'marmalade on toast';

describe('The commands for takedowns', () => {
  let server: Server;
  let ids: Record<'user' | 'space' | 'message' | 'reporter', string>;
  let login: () => Promise<Response>;

  const send = (method: string, path: string, token: string, body?: object) =>
    fetch(`${server.url}/api${path}`, {
      method,
      headers: {
        ...(token && { authorization: `Bearer ${token}` }),
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
  const register = async (username: string) => {
    const body = { username, email: `${username}@example.com`, password: PASSWORD };
    return (await send('POST', '/auth/register', '', body)).json();
  };
  const findTitles = async () => {
    const spaces = await (await fetch(`${server.url}/api/spaces/search?q=bargains`)).json();
    return spaces.map(({ title }: { title: string }) => title);
  };
  let token: string;
  let reporterToken: string;

  beforeAll(async () => {
    server = await startServer();
    const account = await register('mallory');
    const reporter = await register('reporter');
    token = account.access_token;
    reporterToken = reporter.access_token;
    const body = spaceCreation({ title: 'Bargains' });
    const space = await (await send('POST', '/spaces', token, body)).json();
    const text = { space_id: space.space_id, text: 'Buy\u202e this' };
    const message = await (await send('POST', '/messages', token, text)).json();
    ids = {
      user: account.user_id,
      space: space.space_id,
      message: message.message_id,
      reporter: reporter.user_id,
    };
    login = () =>
      send('POST', '/auth/login', '', { email: 'mallory@example.com', password: PASSWORD });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const run = (command: string, ...args: string[]) =>
    runCommand(`commands/${command}`, args, { DATA_DIR: server.dataDir });

  test('list and close reports', async () => {
    expect(await run('reports')).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'Open reports: 0.\n',
    });
    const reportSpace = { reason: 'Counterfeit\ngoods' };
    await send('PUT', `/reports/spaces/${ids.space}`, reporterToken, reportSpace);
    await send('PUT', `/reports/messages/${ids.message}`, reporterToken, { reason: 'Spam' });
    const { stdout, stderr } = await run('reports');
    expect(stderr).toBe('Open reports: 2.\n');
    const [first = '', second = ''] = stdout.split('\n\n');
    expect(first.split('\n').slice(1)).toEqual([
      'reason       "Spam"',
      `message      ${ids.message}  "Buy\\u{202e} this"`,
      `space        ${ids.space}  "Bargains"`,
      `user         ${ids.user}  mallory`,
      `reported by  ${ids.reporter}  reporter`,
    ]);
    expect(second).toContain('reason       "Counterfeit\\ngoods"');
    const reportId = /^report {7}(\S+) {2}\d{4}-/.exec(second)?.[1] as string;

    expect(await run('reports', '--close', reportId, 'unknown')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'There is no open report with the id unknown. Nothing was closed.\n',
    });
    expect((await run('reports', '--close', reportId)).stdout).toBe('Reports closed: 1.\n');
    expect((await run('reports')).stderr).toBe('Open reports: 1.\n');
  });

  test('suspend and restore an account beside a running server', async () => {
    expect(await findTitles()).toEqual(['Bargains']);
    expect(await run('suspend-account', 'Mallory@example.com')).toMatchObject({
      code: 0,
      stderr: '',
    });
    expect(await findTitles()).toEqual([]);
    expect((await send('GET', '/profile/me', token)).status).toBe(401);
    const rejected = await login();
    expect(rejected.status).toBe(403);
    expect(await rejected.json()).toMatchObject({ code: 'account_suspended' });

    expect(await run('restore-account', ids.user)).toMatchObject({ code: 0, stderr: '' });
    expect(await findTitles()).toEqual(['Bargains']);
    const { access_token } = await (await login()).json();
    token = access_token;
  });

  test('remove an avatar with its file', async () => {
    const body = new FormData();
    body.set('avatar', await avatarFile(), 'avatar.png');
    const headers = { authorization: `Bearer ${token}` };
    const changed = await fetch(`${server.url}/api/profile/picture`, {
      method: 'PUT',
      headers,
      body,
    });
    const { profile_picture } = await changed.json();
    expect((await fetch(profile_picture)).status).toBe(200);
    expect(await run('remove-avatar', ids.user)).toMatchObject({ code: 0, stderr: '' });
    expect((await fetch(profile_picture)).status).toBe(404);
    expect(await (await send('GET', '/profile/me', token)).json()).toMatchObject({
      profile_picture: expect.stringMatching(/default\.webp$/),
    });
    expect(await readdir(join(server.dataDir, 'avatars'))).toEqual(['default.webp']);
  });

  test('change an email address', async () => {
    await run('verify-account', 'mallory@example.com');
    expect(await run('set-email', 'mallory@example.com', 'New@example.com')).toMatchObject({
      code: 0,
      stderr: '',
    });
    expect(await (await send('GET', '/profile/me', token)).json()).toMatchObject({
      email: 'New@example.com',
      is_verified: false,
    });
    expect((await login()).status).toBe(401);
    expect(await run('set-email', ids.user, 'REPORTER@example.com')).toMatchObject({
      code: 1,
      stderr: 'Another account has the email address REPORTER@example.com.\n',
    });
    expect((await run('set-email', ids.user, 'no address')).stderr).toMatch(
      /^This is not an email address\./,
    );
    expect(await run('set-email', ids.user, 'mallory@example.com')).toMatchObject({ code: 0 });
    expect((await login()).status).toBe(200);
  });

  test('remove a message and a space', async () => {
    expect(await run('remove-message', ids.message)).toMatchObject({ code: 0, stderr: '' });
    const messages = await fetch(`${server.url}/api/messages?space_id=${ids.space}`);
    expect(await messages.json()).toEqual([]);
    expect(await run('remove-space', ids.space)).toMatchObject({ code: 0, stderr: '' });
    expect(await findTitles()).toEqual([]);
    expect((await run('reports')).stderr).toBe('Open reports: 0.\n');
  });

  test('delete a suspended account, but no other', async () => {
    expect(await run('delete-account', ids.user)).toMatchObject({
      code: 1,
      stderr: `The account ${ids.user} is not suspended. Suspend it first with: npm run suspend-account -- ${ids.user}\n`,
    });
    expect((await login()).status).toBe(200);
    await run('suspend-account', ids.user);
    expect(await run('delete-account', ids.user)).toMatchObject({ code: 0, stderr: '' });
    expect((await login()).status).toBe(401);
    expect((await run('delete-account', ids.user)).code).toBe(1);
  });

  const ofAccounts = ['suspend-account', 'restore-account', 'delete-account', 'remove-avatar'];
  test.each([
    ...ofAccounts.map((command) => [
      command,
      'There is no account with the email address or user id',
    ]),
    ['remove-space', 'There is no space with the id'],
    ['remove-message', 'There is no message with the id'],
  ])(
    '%s rejects an unknown id and wrong arguments with one line',
    async (command, message) => {
      for (const id of ['unknown', 'unknown@example.com']) {
        expect(await run(command, id)).toEqual({
          code: 1,
          stdout: '',
          stderr: `${message} ${id}.\n`,
        });
      }
      for (const args of [[], ['a', 'b'], ['--unknown']]) {
        const { code, stderr } = await run(command, ...args);
        expect({ code, stderr }).toEqual({
          code: 1,
          stderr: expect.stringMatching(RegExp(`^Usage: npm run ${command} -- [A-Z_|]+.*\\n$`)),
        });
      }
    },
    30_000,
  );

  test.each([
    ['set-email', ['unknown', 'a@example.com'], /^There is no account .* unknown\.\n$/],
    ['set-email', ['unknown'], /^Usage: npm run set-email -- ADDRESS\|USER_ID NEW_ADDRESS\n$/],
    ['reports', ['--close'], /^Usage: npm run reports .*\n$/],
    ['reports', ['id'], /^Usage: npm run reports .*\n$/],
    ['reports', ['--open'], /^Usage: npm run reports .*\n$/],
  ])('%s %j prints one line and exits with 1', async (command, args, message) => {
    expect(await run(command, ...args)).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(message),
    });
  });
});
