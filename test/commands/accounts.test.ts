import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import { dataSettings } from '../support/app.ts';
import type { TestUser } from '../support/client.ts';
import { completeCommand, runCommand } from '../support/commands.ts';
import { toNdjson } from '../support/ndjson.ts';
import { createSpace, sendMessage } from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';

describe('The commands that look at accounts', () => {
  const app = useApp();
  let ada: TestUser;
  let adam: TestUser;
  let settings: Record<string, string>;

  const run = (...args: string[]) => runCommand('accounts', args, settings);
  const list = async (...args: string[]) =>
    parse(await completeCommand('accounts', ['--json', ...args], settings));
  const namesOf = async (...args: string[]) =>
    (await list(...args)).map(({ username }) => username);

  beforeAll(async () => {
    settings = dataSettings(app);
    ada = await app.register('Ada');
    adam = await app.register('adam');
    const bob = await app.register('Bob');
    await completeCommand('verify-account', [bob.email], settings);
    const space = await createSpace(ada, { title: 'Tea\u200e', visibility: 'private' });
    const path = { space_id: space.space_id };
    const body = { invitation_code: space.invitation_code ?? '' };
    await api.joinSpace({ client: adam.client, path, body });
    const message = await sendMessage(adam, space, 'Buy this');
    const report = { message_id: message.message_id };
    await api.reportMessage({ client: ada.client, path: report, body: { reason: 'Spam' } });
    await completeCommand('suspend-account', [adam.userId], settings);
  });

  test('list accounts, the newest first, by their state and the beginning of their username', async () => {
    expect(await namesOf()).toEqual(['Bob', 'adam', 'Ada']);
    expect(await namesOf('--suspended')).toEqual(['adam']);
    expect(await namesOf('--unverified')).toEqual(['adam', 'Ada']);
    expect(await namesOf('AD')).toEqual(['adam', 'Ada']);
    expect(await namesOf('a', '--suspended', '--unverified')).toEqual(['adam']);
    expect(await namesOf('B', '--unverified')).toEqual([]);
    const { code, stdout, stderr } = await run('nobody');
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    expect(stderr).toMatch(/^Accounts: 0\.\nDatabase: /);
  });

  test('read more accounts than one query returns', async () => {
    const records = Array.from({ length: 101 }, (_, i) => ({
      type: 'user',
      username: `crowd${i}`,
      email: `crowd${i}@example.com`,
    }));
    await using folder = await mkdtempDisposable(join(tmpdir(), 'accounts-'));
    const DATA_DIR = folder.path;
    await completeCommand('import', ['-'], { DATA_DIR }, toNdjson(records));
    const found = parse(await completeCommand('accounts', ['crowd', '--json'], { DATA_DIR }));
    const names = found.map(({ username }) => username);
    expect(names.toSorted()).toEqual(records.map(({ username }) => username).toSorted());
  });

  test.each(['userId', 'email', 'username'] as const)(
    'show an account that is found by its %s, with sessions, spaces and reports',
    async (key) => {
      const [account] = await list(ada[key]);
      expect(account).toEqual({
        user_id: ada.userId,
        username: 'Ada',
        email: ada.email,
        is_verified: false,
        created_at: expect.any(String),
        suspended_at: null,
        sessions: [
          {
            session_id: expect.any(String),
            created_at: expect.any(String),
            last_used_at: expect.any(String),
            device_name: null,
          },
        ],
        tokens: [],
        spaces: [expect.objectContaining({ title: 'Tea\u200e', visibility: 'private' })],
        reports: [expect.objectContaining({ reason: 'Spam', author_id: adam.userId })],
      });
    },
  );

  test('print an account as text, without characters that change the terminal', async () => {
    const { stdout } = await run(ada.userId);
    expect(stdout).toContain(`account      ${ada.userId}  `);
    expect(stdout).toContain('  Ada  ');
    expect(stdout).toContain('  not verified\n');
    expect(stdout).toContain('private  2 participants  "Tea\\u{200e}"\n');
    expect(stdout).toContain('reason       "Spam"\n');
    expect((await run('--suspended')).stdout).toMatch(
      new RegExp(`^${adam.userId} {2}\\S+ {2}adam {2}\\S+ {2}suspended \\S+ {2}not verified\n$`),
    );
  });

  test('list reports as JSON', async () => {
    const reports = parse(await completeCommand('reports', ['--json'], settings));
    expect(reports).toEqual([expect.objectContaining({ reason: 'Spam', author_username: 'adam' })]);
  });

  test('end one session, or all sessions, of an account', async () => {
    const { email, password } = ada;
    const login = async () =>
      app.client(
        (await api.login({ client: app.client(), body: { email, password } })).data?.access_token,
      );
    const statusOf = async (client: TestUser['client']) =>
      (await api.getProfile({ client })).response?.status;
    const [first, second] = [await login(), await login()];
    const [account] = await list(email);
    const sessions = account?.sessions as { session_id: string }[];
    const id = sessions[0]?.session_id ?? '';
    const end = (...args: string[]) => runCommand('end-sessions', args, settings);

    expect(await end(email, id, 'unknown')).toMatchObject({
      code: 1,
      stderr: 'The account has no session with the id unknown. No session has ended.\n',
    });
    expect(await statusOf(second)).toBe(200);
    expect((await end(email, id)).stdout).toBe('Sessions ended: 1.\n');
    expect([await statusOf(second), await statusOf(first)]).toEqual([401, 200]);
    expect((await end(ada.userId, '--json')).stdout).toBe('{"ended_sessions":2}\n');
    expect([await statusOf(first), await statusOf(ada.client)]).toEqual([401, 401]);
    expect(await list(email)).toEqual([expect.objectContaining({ sessions: [] })]);
  });

  test('end the access token of a program by its id, or all of them', async () => {
    const bea = await app.register('bea');
    const create = async (name: string) => {
      const body = { name, scopes: ['read' as const] };
      return (await api.createToken({ client: bea.client, body, throwOnError: true })).data;
    };
    const statusOf = async ({ access_token }: { access_token: string }) =>
      (await api.getProfile({ client: app.client(access_token) })).response?.status;
    const end = (...args: string[]) => runCommand('end-sessions', args, settings);
    const tokens = [await create('Bot'), await create('Mirror'), await create('Archive')] as const;
    const [bot, mirror] = tokens;
    expect((await run(bea.userId)).stdout).toContain(`token        ${bot.token_id}  `);
    expect((await end(bea.userId, bot.token_id)).stdout).toBe('Sessions ended: 1.\n');
    expect([await statusOf(bot), await statusOf(mirror)]).toEqual([401, 200]);
    expect((await end(bea.userId)).stdout).toBe('Sessions ended: 1.\n');
    expect(await statusOf(mirror)).toBe(200);
    expect((await end(bea.userId, '--tokens')).stdout).toBe('Sessions ended: 2.\n');
    expect(await statusOf(mirror)).toBe(401);
  });
});

function parse(text: string): Record<string, unknown>[] {
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}
