import type { SMTPServerOptions } from 'smtp-server';
import { expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import { dataSettings, startApp } from '../support/app.ts';
import { completeCommand, runCommand } from '../support/commands.ts';
import { startMailServer } from '../support/mail-server.ts';
import { parseMetrics } from '../support/metrics.ts';
import { waitUntil } from '../support/wait-until.ts';

test('send-test-mail prints what the mail server has answered', async () => {
  await using mailServer = await startMailServer();
  const args = ['ann@example.com'];
  const sent = await runCommand('send-test-mail', args, mailServer.settings);
  expect(sent).toMatchObject({ code: 0, stderr: '' });
  expect(sent.stdout).toMatch(/^The mail server has accepted the mail: 250 /);
  expect((await mailServer.receive('ann@example.com')).headers).toContain('Test mail of Spaces');
});

test('send-test-mail explains why the mail was not sent', async () => {
  await using mailServer = await startMailServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    onRcptTo: (_address, _session, callback) =>
      callback(Object.assign(new Error('No such mailbox'), { responseCode: 550 })),
  });
  const run = (address: string, settings: Record<string, string>) =>
    runCommand('send-test-mail', [address], settings);
  const { code, stderr } = await run('ann@example.com', mailServer.settings);
  expect(code).toBe(1);
  expect(stderr).toContain('550 No such mailbox');
  expect((await run('ann', mailServer.settings)).stderr).toContain('not an email address');
  expect((await run('ann@example.com', {})).stderr).toContain('Set MAIL_URL');
});

test.each<Record<string, string>>([
  { MAIL_URL: 'mail.example.org', MAIL_FROM: 'a@example.org', WEB_URL: 'https://example.org' },
  { MAIL_URL: 'smtps://mail.example.org', WEB_URL: 'https://example.org' },
  { MAIL_URL: 'smtps://user:secret@mail.example.org', MAIL_FROM: 'a@example.org' },
])('rejects the settings %j', async (settings) => {
  const { code, stderr } = await runCommand('send-test-mail', ['ann@example.com'], settings);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^(MAIL_URL|MAIL_FROM|WEB_URL)=\S* is invalid: must be/);
  expect(stderr).not.toContain('secret');
});

test('send-test-mail says if MAIL_URL has the wrong scheme', async () => {
  const run = async (scheme: string, options: SMTPServerOptions, query = '') => {
    await using mailServer = await startMailServer(options);
    const MAIL_URL = `${mailServer.settings.MAIL_URL?.replace('smtp:', scheme)}${query}`;
    const settings = { ...mailServer.settings, MAIL_URL };
    return (await runCommand('send-test-mail', ['ann@example.com'], settings)).stderr;
  };
  expect(await run('smtps:', {})).toContain('does not begin with TLS');
  const withTls = { secure: true, logger: false };
  expect(await run('smtp:', withTls, '?greetingTimeout=300')).toContain('use smtps:');
});

test('set-password and set-email send notices', async () => {
  await using mailServer = await startMailServer();
  await using app = await startApp(mailServer.settings);
  const { email, client } = await app.register('ann');
  const { token } = await mailServer.receive(email);
  await api.verifyEmail({ client, body: { token }, throwOnError: true });
  const run = async (name: string, args: string[], input = '') => {
    await completeCommand(name, args, { ...dataSettings(app), ...mailServer.settings }, input);
    app.context.mailer.wake();
    return mailServer.receive(email);
  };
  const { headers } = await run('set-password', [email], 'marmalade on toast\n');
  expect(headers).toContain('Subject: Your password at Spaces has changed');
  const newEmail = 'new@example.com';
  expect((await run('set-email', [email, newEmail])).headers).toContain(
    'Subject: Your email address at Spaces has changed',
  );
});

test('metrics count mail that waits and that has been sent', async () => {
  let isRefusing = true;
  let attempts = 0;
  await using mailServer = await startMailServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    onRcptTo(_address, _session, callback) {
      attempts += 1;
      callback(isRefusing ? Object.assign(new Error('Later'), { responseCode: 450 }) : null);
    },
  });
  await using app = await startApp({ ...mailServer.settings, METRICS_TOKEN: 'metrics' });
  const read = async () => {
    const headers = { authorization: 'Bearer metrics' };
    return parseMetrics(await (await fetch(`${app.url}/metrics`, { headers })).text());
  };
  await app.register('ann');
  await waitUntil('an attempt begins', () => attempts === 1);
  const waiting = await read();
  expect(waiting('space_service_mail_waiting')).toBe(1);
  expect(waiting('space_service_mail_oldest_seconds')).toBeGreaterThan(0);
  await waitUntil(
    'the attempt fails',
    async () => (await read())('space_service_mail_attempts_total{result="postponed"}') === 1,
  );
  isRefusing = false;
  await app.register('ben');
  await mailServer.receive('ben@example.com');
  await waitUntil(
    'the mail is counted',
    async () => (await read())('space_service_mail_attempts_total{result="sent"}') === 1,
  );
});
