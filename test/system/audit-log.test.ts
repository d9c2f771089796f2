import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import { audit } from '../../server/system/audit-log.ts';
import { logOperatorCommands } from '../../server/system/operator-commands.ts';
import { startApp, type TestApp } from '../support/app.ts';
import { runCommand } from '../support/commands.ts';
import { type MailServer, startMailServer } from '../support/mail-server.ts';
import { recordLog } from '../support/record-log.ts';

const PASSWORDS = ['staple of the north wind', 'anchor of the south wind'] as const;

interface Line extends Record<string, unknown> {
  audit?: string;
}

const { log, lines } = recordLog<Line>('warn');
const audited = () => lines.filter((line) => line.audit !== undefined);
let mailServer: MailServer;
let app: TestApp;

beforeAll(async () => {
  mailServer = await startMailServer();
  app = await startApp(mailServer.settings, { log });
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await mailServer[Symbol.asyncDispose]();
});

describe('The audit log', () => {
  test('has a line with the id of the request and of the account for each event, and no address', async () => {
    const { userId, email, password, client } = await app.register();
    await mailServer.receive(email);
    const anonymous = app.client();
    const login = (device_name?: string) =>
      api.login({
        client: anonymous,
        body: { email, password, ...(device_name && { device_name }) },
        throwOnError: true,
      });
    const requestIds: (string | null)[] = [];
    const keep = ({ response }: { response?: Response }) =>
      requestIds.push(response?.headers.get('x-request-id') ?? null);

    keep(await login('Phone'));
    await login('Phone');
    keep(await login('Laptop'));
    keep(await login());
    await api.login({ client: anonymous, body: { email, password: 'wrong password' } });

    const change = { currentPassword: password, newPassword: PASSWORDS[0] };
    keep(await api.changePassword({ client, body: change, throwOnError: true }));
    await api.requestEmailVerification({ client, throwOnError: true });
    const newEmail = `new-${email}`;
    const body = { email: newEmail, currentPassword: PASSWORDS[0] };
    await api.changeEmail({ client, body, throwOnError: true });
    const { token } = await mailServer.receive(newEmail);
    const verification = { client: anonymous, body: { token }, throwOnError: true as const };
    keep(await api.verifyEmail(verification));
    await api.verifyEmail(verification);
    await api.requestPasswordReset({ client: anonymous, body: { email: newEmail } });
    const reset = { token: (await mailServer.receive(newEmail)).token, newPassword: PASSWORDS[1] };
    keep(await api.resetPassword({ client: anonymous, body: reset, throwOnError: true }));
    const { data } = await api.login({
      client: anonymous,
      body: { email: newEmail, password: PASSWORDS[1], device_name: 'Phone' },
    });
    const signedIn = app.client(data?.access_token);
    const program = await api.createToken({
      client: signedIn,
      body: { name: 'Bot', scopes: ['read'] },
      throwOnError: true,
    });
    keep(program);
    const path = { token_id: program.data.token_id };
    keep(await api.revokeToken({ client: signedIn, path, throwOnError: true }));
    keep(await api.deleteAccount({ client: signedIn, throwOnError: true }));

    const events = audited().filter((line) => line.userId === userId);
    expect(events.map((line) => line.audit)).toEqual([
      'signed in on a new device',
      'signed in on a new device',
      'signed in on a new device',
      'password changed',
      'email address changed',
      'password changed',
      // The reset has ended the session on the phone.
      'signed in on a new device',
      'access token created',
      'access token revoked',
      'account deleted',
    ]);
    const reqIds = events.map((line) => line.reqId);
    expect(reqIds.toSpliced(-4, 1)).toEqual(requestIds);
    expect(events.at(-3)).toMatchObject({ tokenId: path.token_id, scopes: ['read'] });
    expect(JSON.stringify(lines)).not.toMatch(/@example|sp[mst]_/);
  });

  test('has a line for each command of the operator, with ids instead of addresses', async () => {
    const { userId, email } = await app.register();
    const { dataDir } = app.context.config;
    const run = (name: string, ...args: string[]) =>
      runCommand(name, args, { DATA_DIR: dataDir, SUDO_USER: 'ruth' });
    const commands = [
      [await run('accounts', '--suspended'), 'accounts', [], ['suspended']],
      [
        await run('set-email', email, 'other@example.com'),
        'set-email',
        [userId, '(email address)'],
        [],
      ],
      [
        await run('verify-account', 'nobody@example.com'),
        'verify-account',
        ['(email address)'],
        [],
      ],
      [await run('suspend-account', 'other@example.com'), 'suspend-account', [userId], []],
      [await run('delete-account', userId), 'delete-account', [userId], []],
      [await run('check-database'), 'check-database', [], []],
    ] as const;
    await run('end-sessions', '--help');
    await appendFile(join(dataDir, 'operator-commands.ndjson'), '{"command":');

    lines.length = 0;
    using _ = logOperatorCommands(dataDir, log, 5);
    await expect.poll(() => audited().length).toBe(commands.length + 1);
    expect(audited()).toEqual([
      ...commands.map(([{ code }, command, args, flags]) =>
        expect.objectContaining({
          audit: 'command',
          command,
          arguments: args,
          flags,
          operator: 'ruth',
          exitCode: code,
          endedAt: expect.stringMatching(/^\d{4}-.*Z$/),
        }),
      ),
      expect.objectContaining({ audit: 'command', incomplete: '{"command":' }),
    ]);
    expect(commands.map(([{ code }]) => code)).toEqual([0, 0, 1, 0, 0, 0]);

    // Each is logged once, and later ones are logged, too.
    await run('check-usernames');
    await expect.poll(() => audited().length).toBe(commands.length + 2);
    expect(audited().at(-1)).toMatchObject({ command: 'check-usernames' });
  });

  test('is empty if the log is silent', () => {
    const { log: silent, lines: written } = recordLog('silent');
    audit(silent, 'account deleted', { userId: 'id' });
    expect(written).toEqual([]);
  });
});
