import { mkdtempDisposable, readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import { MARKER_NAME } from '../../server/storage/database-marker.ts';
import { ada } from '../import-export/records.ts';
import { uploadAvatar } from '../support/avatar.ts';
import type { TestUser } from '../support/client.ts';
import { completeCommand, runCommand } from '../support/commands.ts';
import { toNdjson } from '../support/ndjson.ts';
import { createSpace, sendMessage } from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';

describe('The commands for takedowns', () => {
  const app = useApp();
  let dataDir: string;
  let ids: Record<'user' | 'space' | 'message' | 'reporter', string>;
  let mallory: TestUser;
  let reporter: TestUser;

  const findTitles = async () => {
    const query = { q: 'bargains' };
    const { data } = await api.searchSpaces({ client: app.client(), query });
    return data?.map(({ title }) => title);
  };
  const login = () => {
    const { email, password } = mallory;
    return api.login({ client: app.client(), body: { email, password } });
  };
  const loginStatus = async () => (await login()).response?.status;
  const getProfile = () => api.getProfile({ client: mallory.client });

  beforeAll(async () => {
    dataDir = app.context.config.dataDir;
    mallory = await app.register('mallory');
    reporter = await app.register('reporter');
    const space = await createSpace(mallory, { title: 'Bargains' });
    const message = await sendMessage(mallory, space, 'Buy\u202e this');
    ids = {
      user: mallory.userId,
      space: space.space_id,
      message: message.message_id,
      reporter: reporter.userId,
    };
  });

  const run = (command: string, ...args: string[]) =>
    runCommand(command, args, { DATA_DIR: dataDir });
  const databaseLine = () => `Database: DATA_DIR=${dataDir}\n`;

  test('list and close reports', async () => {
    expect(await run('reports')).toMatchObject({
      code: 0,
      stdout: '',
      stderr: `Open reports: 0.\n${databaseLine()}`,
    });
    const { client } = reporter;
    await api.reportSpace({
      client,
      path: { space_id: ids.space },
      body: { reason: 'Counterfeit\ngoods' },
    });
    await api.reportMessage({
      client,
      path: { message_id: ids.message },
      body: { reason: 'Spam' },
    });
    const body = { text: 'Buy this' };
    const path = { message_id: ids.message };
    await api.editMessage({ client: mallory.client, path, body, throwOnError: true });
    const { stdout, stderr } = await run('reports');
    expect(stderr).toBe(`Open reports: 2.\n${databaseLine()}`);
    const [first = '', second = ''] = stdout.split('\n\n');
    expect(first.split('\n').slice(1)).toEqual([
      'reason       "Spam"',
      `message      ${ids.message}  "Buy this"`,
      expect.stringMatching(/^edited {7}\d{4}-\S+Z {2}after the report$/),
      `space        ${ids.space}  "Bargains"`,
      `user         ${ids.user}  mallory`,
      `reported by  ${ids.reporter}  reporter`,
    ]);
    expect(second).toContain('reason       "Counterfeit\\ngoods"');
    const about = async (id: string) =>
      (await run('reports', '--about', id)).stdout.match(/^(space|message|user) .*/gm);
    const target = { path: { user_id: ids.user }, body: { reason: 'Spam everywhere' } };
    await api.reportUser({ client, ...target, throwOnError: true });
    expect(await about(ids.space)).toHaveLength(2 + 3);
    expect((await about(ids.user))?.at(0)).toMatch(new RegExp(`^user {9}${ids.user} `));
    expect(await about('unknown')).toBeNull();
    await api.withdrawUserReport({ client, path: target.path, throwOnError: true });
    const reportId = /^report {7}(\S+) {2}\d{4}-/.exec(second)?.[1] as string;

    expect(await run('reports', '--close', reportId, 'unknown')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'There is no open report with the id unknown. Nothing was closed.\n',
    });
    expect((await run('reports', '--close', reportId, reportId)).stdout).toBe(
      'Reports closed: 1.\n',
    );
    expect((await run('reports')).stderr).toBe(`Open reports: 1.\n${databaseLine()}`);
  });

  test('suspend and restore an account beside a running server', async () => {
    expect(await findTitles()).toEqual(['Bargains']);
    expect(await run('suspend-account', 'Mallory@example.com')).toMatchObject({
      code: 0,
      stderr: databaseLine(),
    });
    expect(await findTitles()).toEqual([]);
    expect((await getProfile()).response?.status).toBe(401);
    expect((await login()).error).toMatchObject({ status: 403, code: 'account_suspended' });

    expect(await run('restore-account', ids.user)).toMatchObject({
      code: 0,
      stderr: databaseLine(),
    });
    expect(await findTitles()).toEqual(['Bargains']);
    mallory.client = app.client((await login()).data?.access_token);
  });

  test('remove an avatar with its file', async () => {
    const avatarUrl = await uploadAvatar(mallory);
    expect((await fetch(avatarUrl)).status).toBe(200);
    expect(await run('remove-avatar', ids.user)).toMatchObject({ code: 0, stderr: databaseLine() });
    expect((await fetch(avatarUrl)).status).toBe(404);
    expect((await getProfile()).data).toMatchObject({
      profile_picture: expect.stringMatching(/default\.webp$/),
    });
    expect((await readdir(join(dataDir, 'avatars'))).sort()).toEqual(['default.webp', MARKER_NAME]);
  });

  test('change an email address', async () => {
    await run('verify-account', mallory.email);
    expect(await run('set-email', mallory.email, 'New@example.com')).toMatchObject({
      code: 0,
      stderr: databaseLine(),
    });
    expect((await getProfile()).data).toMatchObject({
      email: 'New@example.com',
      is_verified: false,
    });
    expect(await loginStatus()).toBe(401);
    expect(await run('set-email', ids.user, 'REPORTER@example.com')).toMatchObject({
      code: 1,
      stderr: 'Another account has the email address REPORTER@example.com.\n',
    });
    expect((await run('set-email', ids.user, 'no address')).stderr).toMatch(
      /^This is not an email address\./,
    );
    expect(await run('set-email', ids.user, mallory.email)).toMatchObject({ code: 0 });
    expect(await loginStatus()).toBe(200);
  });

  test('remove a message and a space', async () => {
    expect(await run('remove-message', ids.message)).toMatchObject({
      code: 0,
      stderr: databaseLine(),
    });
    const messages = await api.listMessages({
      client: app.client(),
      query: { space_id: ids.space },
    });
    expect(messages.data?.items).toEqual([]);
    expect(await run('remove-space', ids.space)).toMatchObject({ code: 0, stderr: databaseLine() });
    expect(await findTitles()).toEqual([]);
    expect((await run('reports')).stderr).toBe(`Open reports: 0.\n${databaseLine()}`);
  });

  test('delete a suspended account, but no other', async () => {
    expect(await run('delete-account', ids.user)).toMatchObject({
      code: 1,
      stderr: `The account ${ids.user} is not suspended. Suspend it first with: npm run suspend-account -- ${ids.user}\n`,
    });
    expect(await loginStatus()).toBe(200);
    await run('suspend-account', ids.user);
    expect(await run('delete-account', ids.user)).toMatchObject({
      code: 0,
      stderr: databaseLine(),
    });
    expect(await loginStatus()).toBe(401);
    expect((await run('delete-account', ids.user)).code).toBe(1);
  });

  const ofAccounts = [
    'set-password',
    'verify-account',
    'suspend-account',
    'restore-account',
    'delete-account',
    'remove-avatar',
  ];
  test.each([
    ...ofAccounts.map((command) => [
      command,
      'There is no account with the email address or user id',
    ]),
    ['remove-space', 'There is no space with the id'],
    ['remove-message', 'There is no message with the id'],
  ])(
    '%s rejects an unknown id with one line, and wrong arguments with the usage',
    async (command, message) => {
      for (const id of ['unknown', 'unknown@example.com', '-7gQx', '--7gQx']) {
        expect(await run(command, id)).toEqual({
          code: 1,
          stdout: '',
          stderr: `${message} ${id}.\n`,
        });
      }
      const wrong: [string[], RegExp][] = [
        [[], /^[A-Z_]+( or [A-Z_]+)* is missing\.$/],
        [['a', 'b'], /^Unexpected argument b\.$/],
        [['--unknown'], /^Unknown option --unknown\.$/],
      ];
      for (const [args, reason] of wrong) {
        const { code, stderr } = await run(command, ...args);
        expect({ code, stderr }).toEqual({
          code: 1,
          stderr: expect.stringMatching(
            RegExp(`^.+\\nUsage: npm run ${command} -- [A-Z_|]+.*\\n$`),
          ),
        });
        expect(stderr.split('\n')[0]).toMatch(reason);
      }
    },
  );

  test.each([
    ['set-email', ['unknown', 'a@example.com'], /^There is no account .* unknown\.\n$/],
    ['remove-space', ['--', '--help'], /^There is no space with the id --help\.\n$/],
  ])('%s %j prints what is wrong and exits with 1', async (command, args, message) => {
    expect(await run(command, ...args)).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(message),
    });
  });
});

test.each(['remove-avatar', 'delete-account'])(
  '%s says that the account has been changed, if the avatar store cannot be opened',
  async (command) => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'takedowns-'));
    const settings = { DATA_DIR: folder.path };
    await completeCommand('import', ['-'], settings, toNdjson([ada]));
    await completeCommand('suspend-account', [ada.email], settings);
    await writeFile(join(folder.path, 'avatars'), 'not a folder');
    expect(await runCommand(command, [ada.email], settings)).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^The change to the account is complete, but .*EEXIST.*\n$/),
    });
  },
);
