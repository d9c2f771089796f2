import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import { claimMail } from '../../server/mail/outbox.ts';
import { startApp, type TestApp } from '../support/app.ts';
import { getError } from '../support/errors.ts';
import { startMailServer } from '../support/mail-server.ts';
import { recordLog } from '../support/record-log.ts';
import { waitUntil } from '../support/wait-until.ts';

const ADDRESS = 'ann@example.com';

let respond: ((command: 'RCPT' | 'DATA') => Error | undefined) | undefined;
afterEach(() => {
  respond = undefined;
});

/** Returns an error with which the mail server answers. */
const answer = (responseCode: number, text = 'No') =>
  Object.assign(new Error(text), { responseCode });

/** Starts a mail server that answers like `respond`, and a service that uses it. */
async function startService(cleanup: AsyncDisposableStack) {
  const mailServer = cleanup.use(
    await startMailServer({
      disabledCommands: ['AUTH', 'STARTTLS'],
      onRcptTo: (_address, _session, callback) => callback(respond?.('RCPT')),
    }),
  );
  const { log, lines } = recordLog<{ msg: string }>('warn');
  const app = cleanup.use(await startApp(mailServer.settings, { log }));
  return { mailServer, app, lines };
}

const outboxOf = ({ context }: TestApp) =>
  context.engine.db.selectFrom('mails').selectAll().execute();

/** Makes all mail due, as if its pause or its lease had ended. */
async function makeDue({ context }: TestApp): Promise<void> {
  await context.engine.db
    .updateTable('mails')
    .set({ send_after: new Date(0).toISOString() })
    .execute();
  context.mailer.wake();
}

test('tries again after a temporary rejection, and logs it without the address', async () => {
  await using cleanup = new AsyncDisposableStack();
  const { mailServer, app, lines } = await startService(cleanup);
  respond = () => answer(450);
  await app.register('ann');
  await waitUntil('the attempt fails', () => lines.length > 0);
  expect(lines[0]?.msg).toBe('mail was not accepted and is postponed');
  expect(JSON.stringify(lines)).not.toContain(ADDRESS);
  const [mail] = await outboxOf(app);
  const pauseMs = Date.parse(mail?.send_after ?? '') - Date.now();
  expect(pauseMs).toBeGreaterThan(50_000);
  expect(pauseMs).toBeLessThan(61_000);
  respond = undefined;
  await makeDue(app);
  const { token } = await mailServer.receive(ADDRESS);
  await api.verifyEmail({ client: app.client(), body: { token }, throwOnError: true });
  await waitUntil('the outbox is empty', async () => (await outboxOf(app)).length === 0);
});

test('gives up after two days', async () => {
  await using cleanup = new AsyncDisposableStack();
  const { mailServer, app, lines } = await startService(cleanup);
  respond = () => answer(450);
  await app.register('ann');
  await waitUntil('the attempt fails', () => lines.length === 1);
  const setAge = (hours: number) =>
    app.context.engine.db
      .updateTable('mails')
      .set({ created_at: new Date(Date.now() - hours * 3_600_000).toISOString() })
      .execute();
  await setAge(47.99);
  await makeDue(app);
  await waitUntil('the attempt fails', () => lines.length === 2);
  expect(lines[1]?.msg).toBe('mail was not accepted and is deleted');
  expect(await outboxOf(app)).toEqual([]);

  // Also if the service has not run for so long.
  await app.register('ben');
  await waitUntil('the attempt fails', () => lines.length === 3);
  await setAge(49);
  respond = undefined;
  await makeDue(app);
  await waitUntil('the outbox is empty', async () => (await outboxOf(app)).length === 0);
  expect(mailServer.mails).toEqual([]);
});

test('deletes mail that is rejected for good, and sends the next one', async () => {
  await using cleanup = new AsyncDisposableStack();
  const { mailServer, app, lines } = await startService(cleanup);
  respond = () => {
    respond = undefined;
    return answer(550);
  };
  await app.register('ann');
  await waitUntil('the attempt fails', () => lines.length > 0);
  await app.register('ben');
  await mailServer.receive('ben@example.com');
  expect(lines.map(({ msg }) => msg)).toEqual(['mail was not accepted and is deleted']);
  expect(mailServer.mails.map(({ to }) => to)).toEqual(['ben@example.com']);
});

test('keeps mail that is rejected because of the settings', async () => {
  for (const rejection of [answer(530), answer(550, '5.7.1 Relaying denied')]) {
    await using cleanup = new AsyncDisposableStack();
    const { app, lines } = await startService(cleanup);
    respond = () => rejection;
    await app.register('ann');
    await waitUntil('the attempt fails', () => lines.length > 0);
    expect(lines.map(({ msg }) => msg)).toEqual(['mail was not accepted and is postponed']);
    expect(await outboxOf(app)).toHaveLength(1);
  }
});

test('keeps mail while the mail server cannot be reached or refuses the password', async () => {
  const closed = await startMailServer();
  await closed[Symbol.asyncDispose]();
  await using strict = await startMailServer({
    disabledCommands: [],
    secure: true,
    logger: false,
    onAuth: ({ password }, _session, callback) =>
      callback(null, password === 'right' ? { user: 'spaces' } : { message: 'No' }),
  });
  const { host } = new URL(strict.settings.MAIL_URL ?? '');
  const urlWith = (password: string) =>
    `smtps://spaces:${password}@${host}?tls.rejectUnauthorized=false`;
  for (const url of [closed.settings.MAIL_URL ?? '', urlWith('wrong'), urlWith('right')]) {
    const { log, lines } = recordLog<{ msg: string }>('warn');
    await using app = await startApp({ ...strict.settings, MAIL_URL: url }, { log });
    await app.register('ann');
    if (url === urlWith('right')) {
      await strict.receive(ADDRESS);
      continue;
    }
    await waitUntil('the attempt fails', () => lines.length > 0);
    expect(lines.map(({ msg }) => msg)).toEqual(['mail was not accepted and is postponed']);
    expect(JSON.stringify(lines)).not.toContain('wrong');
    expect(await outboxOf(app)).toHaveLength(1);
  }
});

test('uses STARTTLS if the mail server offers it', async () => {
  const isSecure: boolean[] = [];
  await using mailServer = await startMailServer({
    disabledCommands: ['AUTH'],
    onRcptTo: (_address, { secure }, callback) => {
      isSecure.push(secure);
      callback();
    },
  });
  const MAIL_URL = `${mailServer.settings.MAIL_URL}?tls.rejectUnauthorized=false`;
  await using app = await startApp({ ...mailServer.settings, MAIL_URL });
  await app.register('ann');
  await mailServer.receive(ADDRESS);
  expect(isSecure).toEqual([true]);
});

test('sends mail again that a mail server has taken without an answer', async () => {
  const messages: string[] = [];
  const behaviors: ((socket: Socket) => void)[] = [(socket) => socket.destroy(), () => {}];
  // Answers everything but the end of the message: it closes the connection first, and is silent then.
  const server = createServer((socket) => {
    socket.on('error', () => {}).write('220 hello\r\n');
    let message: string | undefined;
    socket.setEncoding('utf8').on('data', (data: string) => {
      if (message === undefined) {
        if (data.startsWith('DATA')) message = '';
        socket.write(data.startsWith('DATA') ? '354 go on\r\n' : '250 ok\r\n');
        return;
      }
      message += data;
      if (!message.endsWith('\r\n.\r\n')) return;
      messages.push(message);
      behaviors.shift()?.(socket);
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  await using mailServer = await startMailServer();
  const MAIL_URL = `smtp://127.0.0.1:${port}?socketTimeout=500`;
  const { log, lines } = recordLog<{ msg: string }>('warn');
  await using app = await startApp({ ...mailServer.settings, MAIL_URL }, { log });
  await app.register('ann');
  for (const attempts of [1, 2]) {
    await waitUntil('the attempt fails', () => lines.length === attempts);
    expect(lines.at(-1)?.msg).toBe('mail was not accepted and is postponed');
    await makeDue(app);
  }
  server.close();
  const ids = messages.map((message) => /^Message-ID: (.+)$/m.exec(message)?.[1]);
  expect(new Set(ids).size).toBe(1);
  expect(await outboxOf(app)).toHaveLength(1);
});

test('sends mail again after a crash, with another token and the same Message-ID', async () => {
  await using cleanup = new AsyncDisposableStack();
  const { mailServer, app } = await startService(cleanup);
  const { client } = await app.register('ann');
  const first = await mailServer.receive(ADDRESS);
  await api.requestEmailVerification({ client, throwOnError: true });
  const second = await mailServer.receive(ADDRESS);
  const idOf = (headers: string) => /^Message-ID: (.+)$/m.exec(headers)?.[1];
  expect(idOf(second.headers)).not.toBe(idOf(first.headers));

  // Another process has claimed the mail, and ends before or after sending it.
  await app.context.mailer.stop();
  await api.requestEmailVerification({ client, throwOnError: true });
  const claimed = await claimMail(app.context.engine, 60_000);
  expect(await claimMail(app.context.engine, 60_000)).toBeUndefined();
  await using later = await startApp(mailServer.settings, { sharesDataOf: app });
  await makeDue(later);
  const third = await mailServer.receive(ADDRESS);
  expect(idOf(third.headers)).toBe(`<${claimed?.mailId}@example.org>`);
  expect(third.token).not.toBe(claimed?.token);
  for (const token of [claimed?.token ?? '', third.token]) {
    await api.verifyEmail({ client: app.client(), body: { token }, throwOnError: true });
  }
});

test('sends each mail once if two processes share the outbox', async () => {
  await using cleanup = new AsyncDisposableStack();
  const { mailServer, app } = await startService(cleanup);
  await using other = await startApp(mailServer.settings, { sharesDataOf: app });
  const names = Array.from({ length: 12 }, (_, i) => `user${i}`);
  await Promise.all(names.map((name, i) => [app, other][i % 2]?.register(name)));
  await waitUntil('the outbox is empty', async () => (await outboxOf(app)).length === 0);
  const addresses = mailServer.mails.map(({ to }) => to).sort();
  expect(addresses).toEqual(names.map((name) => `${name}@example.com`).sort());
});

test('links expire', async () => {
  await using cleanup = new AsyncDisposableStack();
  const { mailServer, app } = await startService(cleanup);
  await app.register('ann');
  const { token } = await mailServer.receive(ADDRESS);
  const { db } = app.context.engine;
  const [stored] = await db.selectFrom('mail_tokens').selectAll().execute();
  const lifetimeMs = Date.parse(stored?.expires_at ?? '') - Date.now();
  expect(Math.round(lifetimeMs / 3_600_000)).toBe(48);
  expect(JSON.stringify(stored)).not.toContain(token.slice(4));
  await db.updateTable('mail_tokens').set({ expires_at: new Date().toISOString() }).execute();
  const body = { token };
  expect(await getError(api.verifyEmail({ client: app.client(), body }))).toBe('400 invalid_token');
  await app.context.housekeeping.run();
  expect(await db.selectFrom('mail_tokens').selectAll().execute()).toEqual([]);
});

test('resets of a password are limited per address, whether an account has it or not, and others not by them', async () => {
  await using mailServer = await startMailServer();
  await using app = await startApp({ ...mailServer.settings, RATE_LIMITS: 'on' });
  const client = app.client();
  const errors: string[] = [];
  for (const email of [
    ...Array(5).fill('nobody+1@example.com'),
    'Nobody+1@example.com',
    'nobody@example.com',
  ]) {
    const body = { email };
    const request = api.requestPasswordReset({ client, body });
    errors.push((await request).error ? await getError(request) : 'sent');
  }
  expect(errors).toEqual([...Array(5).fill('sent'), '429 too_many_requests', 'sent']);
});

test('the mail to an account and to a mailbox is limited', async () => {
  await using mailServer = await startMailServer();
  await using app = await startApp({ ...mailServer.settings, RATE_LIMITS: 'on' });
  const user = await app.register('ann');
  const repeat = async (send: () => Promise<{ error?: unknown; response?: Response }>) => {
    for (let i = 0; i < 5; i += 1) expect((await send()).response?.status).toBe(202);
    return getError(send());
  };
  expect(await repeat(() => api.requestEmailVerification({ client: user.client }))).toBe(
    '429 too_many_requests',
  );
  const body = { email: 'new@example.com', currentPassword: user.password };
  expect(await repeat(() => api.changeEmail({ client: user.client, body }))).toBe(
    '429 too_many_requests',
  );
});

test('repeated verification mails are limited per mailbox', async () => {
  await using mailServer = await startMailServer();
  await using app = await startApp({ ...mailServer.settings, RATE_LIMITS: 'on' });
  const emails = ['ann@example.com', 'Ann+2@example.com', 'ben@example.com'];
  const repeat = async (email: string, i: number) => {
    const body = { username: `user${i}`, email, password: 'correct horse battery' };
    const { data } = await api.register({ client: app.client(), body, throwOnError: true });
    const client = app.client(data.access_token);
    const statuses: (number | undefined)[] = [];
    for (let attempt = 0; attempt < 3; attempt += 1) {
      statuses.push((await api.requestEmailVerification({ client })).response?.status);
    }
    return statuses;
  };
  const statuses: unknown[] = [];
  for (const [i, email] of emails.entries()) statuses.push(await repeat(email, i));
  expect(statuses).toEqual([
    [202, 202, 202],
    [202, 202, 429],
    [202, 202, 202],
  ]);
});

test('an address that is not verified gets no notices', async () => {
  await using mailServer = await startMailServer();
  await using app = await startApp(mailServer.settings);
  const { client, password, email } = await app.register('ann');
  await mailServer.receive(email);
  const body = { currentPassword: password, newPassword: 'another long password' };
  await api.changePassword({ client, body, throwOnError: true });
  const change = { email: 'new@example.com', currentPassword: body.newPassword };
  await api.changeEmail({ client, body: change, throwOnError: true });
  const { token } = await mailServer.receive(change.email);
  await api.verifyEmail({ client, body: { token }, throwOnError: true });
  await waitUntil('the outbox is empty', async () => (await outboxOf(app)).length === 0);
  expect(mailServer.mails.map(({ to }) => to)).toEqual([email, change.email]);
});
