import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import { setEmail } from '../../server/account-lifecycle/email-change.ts';
import { startApp, type TestApp } from '../support/app.ts';
import type { TestUser } from '../support/client.ts';
import { getError } from '../support/errors.ts';
import { type MailServer, startMailServer, WEB_URL } from '../support/mail-server.ts';

const NEW_PASSWORD = 'staple of the north wind';

let mailServer: MailServer;
let app: TestApp;

beforeAll(async () => {
  mailServer = await startMailServer();
  app = await startApp({ ...mailServer.settings, SITE_NAME: 'Tea & Cake' });
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await mailServer[Symbol.asyncDispose]();
});

/** Registers a user, and takes the first mail out of the way. */
async function registerWithMail(username?: string): Promise<TestUser & { link: string }> {
  const user = await app.register(username);
  const { token: link } = await mailServer.receive(user.email);
  return { ...user, link };
}

const anonymous = () => app.client();
const isVerified = async ({ client }: TestUser) =>
  (await api.getProfile({ client, throwOnError: true })).data.is_verified;
const verify = (token: string) => api.verifyEmail({ client: anonymous(), body: { token } });
const requestReset = (email: string, language = '') =>
  api.requestPasswordReset({
    client: anonymous(),
    body: { email },
    headers: { 'accept-language': language },
    throwOnError: true,
  });
const reset = (token: string, newPassword = NEW_PASSWORD) =>
  api.resetPassword({ client: anonymous(), body: { token, newPassword } });
const logIn = (email: string, password: string) =>
  api.login({ client: anonymous(), body: { email, password } });
const changeEmail = ({ client, password }: TestUser, email: string, currentPassword = password) =>
  api.changeEmail({ client, body: { email, currentPassword } });

describe('The verification of an address', () => {
  test('begins with the mail that a registration sends', async () => {
    const { email, client, ...user } = await app.register('ann');
    const mail = await mailServer.receive(email);
    expect(mail.link).toMatch(/^https:\/\/web\.example\.org\/spaces\/#\/verify-email\?token=spm_/);
    expect(await isVerified({ email, client, ...user })).toBe(false);
    const { data } = await verify(mail.token);
    expect(data?.message).toBe(`The address ${email} is verified.`);
    expect(await isVerified({ email, client, ...user })).toBe(true);
  });

  test('succeeds again with the same link, and with one that was requested later', async () => {
    const user = await registerWithMail();
    await api.requestEmailVerification({ client: user.client, throwOnError: true });
    const { token } = await mailServer.receive(user.email);
    for (const each of [user.link, user.link, token]) {
      expect((await verify(each)).response?.status).toBe(200);
    }
  });

  test('is not requested again for a verified address', async () => {
    const user = await registerWithMail();
    await verify(user.link);
    const { response } = await api.requestEmailVerification({ client: user.client });
    expect(response?.status).toBe(202);
    await requestReset(user.email);
    expect((await mailServer.receive(user.email)).link).toContain('/#/reset-password');
  });

  test('rejects a link to an address that the operator has replaced', async () => {
    const user = await registerWithMail();
    await setEmail(app.context, user.userId, `new.${user.email}`);
    expect(await getError(verify(user.link))).toBe('400 invalid_token');
  });
});

describe('A password reset', () => {
  test('replaces the password, and ends all sessions and other links', async () => {
    const user = await registerWithMail();
    await requestReset(user.email.toUpperCase());
    const first = await mailServer.receive(user.email);
    await requestReset(user.email);
    const second = await mailServer.receive(user.email);
    expect(second.token).not.toBe(first.token);

    expect((await reset(second.token)).response?.status).toBe(200);
    expect(await getError(api.getProfile({ client: user.client }))).toBe('401 unauthenticated');
    expect(await getError(logIn(user.email, user.password))).toBe('401 credentials_incorrect');
    const { data } = await logIn(user.email, NEW_PASSWORD);
    const client = app.client(data?.access_token);
    expect(await isVerified({ ...user, client })).toBe(true);
    for (const token of [first.token, second.token, user.link, 'unknown']) {
      expect(await getError(reset(token))).toBe('400 invalid_token');
    }
    expect((await mailServer.receive(user.email)).headers).toContain('has changed');
  });

  test('keeps the link if the new password is refused', async () => {
    const user = await registerWithMail();
    await requestReset(user.email);
    const { token } = await mailServer.receive(user.email);
    expect(await getError(reset(token, user.email))).toBe('400 password_names_you');
    expect((await reset(token)).response?.status).toBe(200);
  });

  test('uses a link once if two requests have it at the same time', async () => {
    const user = await registerWithMail();
    await requestReset(user.email);
    const { token } = await mailServer.receive(user.email);
    const statuses = await Promise.all(
      ['one of the passwords', 'another password'].map(
        async (password) => (await reset(token, password)).response?.status,
      ),
    );
    expect(statuses.sort()).toEqual([200, 400]);
  });

  test('is not sent to an address that no account has, and has the same response', async () => {
    const user = await registerWithMail();
    const unknown = await requestReset('nobody@example.com');
    const known = await requestReset(user.email);
    expect(unknown.data).toEqual(known.data);
    await mailServer.receive(user.email);
    expect(mailServer.mails.map(({ to }) => to)).not.toContain('nobody@example.com');
  });

  test('has the language of the request', async () => {
    const user = await registerWithMail();
    await requestReset(user.email, 'fr, de-AT;q=0.9, en;q=0.8');
    const { headers, body } = await mailServer.receive(user.email);
    expect(headers).toContain('Content-Language: de');
    expect(body).toContain('Wenn du es warst');
  });
});

describe('A change of the address', () => {
  test('takes effect when the link is used, and tells the former address', async () => {
    const user = await registerWithMail();
    await verify(user.link);
    await requestReset(user.email);
    const { token: resetToken } = await mailServer.receive(user.email);
    const email = `new.${user.email}`;
    expect((await changeEmail(user, email)).response?.status).toBe(202);
    expect((await mailServer.receive(user.email)).headers).toContain('about to change');
    const { token } = await mailServer.receive(email);
    const readAddress = async () =>
      (await api.getProfile({ client: user.client, throwOnError: true })).data.email;
    expect(await readAddress()).toBe(user.email);

    for (let i = 0; i < 2; i += 1) expect((await verify(token)).response?.status).toBe(200);
    expect(await readAddress()).toBe(email);
    expect(await isVerified(user)).toBe(true);
    expect((await mailServer.receive(user.email)).headers).toContain('has changed');
    // Its recipient may no longer own the account.
    expect(await getError(reset(resetToken))).toBe('400 invalid_token');
    expect(await getError(verify(user.link))).toBe('400 invalid_token');
  });

  test('replaces an earlier one', async () => {
    const user = await registerWithMail();
    await changeEmail(user, `first.${user.email}`);
    const first = await mailServer.receive(`first.${user.email}`);
    await changeEmail(user, `second.${user.email}`);
    const second = await mailServer.receive(`second.${user.email}`);
    expect(await getError(verify(first.token))).toBe('400 invalid_token');
    expect((await verify(second.token)).response?.status).toBe(200);
  });

  test('rejects a wrong password and an address that another account has', async () => {
    const [user, other] = [await registerWithMail(), await registerWithMail()];
    const email = `new.${user.email}`;
    expect(await getError(changeEmail(user, email, 'wrong'))).toBe(
      '403 current_password_incorrect',
    );
    expect(await getError(changeEmail(user, other.email.toUpperCase()))).toBe('409 email_taken');
    // Another account takes the address before the link is used.
    await changeEmail(user, email);
    const { token } = await mailServer.receive(email);
    await setEmail(app.context, other.userId, email);
    expect(await getError(verify(token))).toBe('409 email_taken');
  });

  test('ends with a change of the password', async () => {
    const user = await registerWithMail();
    await verify(user.link);
    const email = `new.${user.email}`;
    await changeEmail(user, email);
    const { token } = await mailServer.receive(email);
    const body = { currentPassword: user.password, newPassword: NEW_PASSWORD };
    await api.changePassword({ client: user.client, body, throwOnError: true });
    expect(await getError(verify(token))).toBe('400 invalid_token');
    await mailServer.receive(user.email);
    expect((await mailServer.receive(user.email)).headers).toContain('has changed');
    // The link to the present address still works.
    expect((await verify(user.link)).response?.status).toBe(200);
  });
});

describe('A mail', () => {
  test('has the headers of automatic mail, a plain and an HTML part, and no text of users', async () => {
    const username = 'visit.evil.example';
    const { email } = await app.register(username);
    const { headers, body, link } = await mailServer.receive(email);
    expect(headers).toMatch(/^From: "?Tea & Cake"? <spaces@example\.org>$/m);
    expect(headers).toMatch(/^Auto-Submitted: auto-generated$/m);
    expect(headers).toMatch(/^Date: .+$/m);
    expect(headers).toMatch(/^Message-ID: <[0-9a-f-]{36}@example\.org>$/m);
    expect(headers).toMatch(/^Subject: .*Tea & Cake$/m);
    expect(body).toContain('Content-Type: text/plain');
    expect(body).toContain(`<a href="${link}">`);
    expect(body).toContain('registered at Tea &amp; Cake');
    expect(headers.replaceAll(email, '') + body).not.toContain(username);
    expect(link.startsWith(WEB_URL)).toBe(true);
  });

  test('belongs to no account that has been deleted or suspended meanwhile', async () => {
    const { engine } = app.context;
    const user = await app.register('gone');
    await changeEmail(user, 'new.gone@example.com');
    await api.deleteAccount({ client: user.client, throwOnError: true });
    const rows = await engine.db.selectFrom('mails').select('address').execute();
    expect(rows).toEqual([]);
    const later = await registerWithMail();
    expect(await getError(verify(later.link.slice(1)))).toBe('400 invalid_token');
    expect(mailServer.mails.map(({ to }) => to)).not.toContain('new.gone@example.com');
  });
});

test('REQUIRE_VERIFIED_EMAIL lets unverified accounts read and manage themselves, but not write', async () => {
  await using strict = await startApp({ ...mailServer.settings, REQUIRE_VERIFIED_EMAIL: 'on' });
  const { client, email, userId } = await strict.register('strict');
  const { data } = await api.getServer({ client });
  expect(data?.requires_verified_email).toBe(true);
  const space_id = 'unknown';
  const message_id = 'unknown';
  const reason = 'Spam';
  const creation = { title: 'Tea', description: '', visibility: 'public' as const, tags: [] };
  const writes = () => [
    api.createSpace({ client, body: creation }),
    api.joinSpace({ client, path: { space_id } }),
    api.sendMessage({ client, body: { space_id, text: 'Hello' } }),
    api.editMessage({ client, path: { message_id }, body: { text: 'Hello' } }),
    api.appreciateMessage({ client, path: { message_id } }),
    api.reportSpace({ client, path: { space_id }, body: { reason } }),
    api.reportMessage({ client, path: { message_id }, body: { reason } }),
    api.reportUser({ client, path: { user_id: userId }, body: { reason } }),
    api.changeUsername({ client, body: { username: 'other' } }),
    api.changeBio({ client, body: { bio: '' } }),
    api.changeProfilePicture({ client, body: { avatar: new Blob(['text']) } }),
  ];
  for (const write of writes()) expect(await getError(write)).toBe('403 email_not_verified');
  await api.getUser({ client, path: { user_id: userId }, throwOnError: true });
  await api.listParticipations({ client, throwOnError: true });
  const { token } = await mailServer.receive(email);
  await api.verifyEmail({ client, body: { token }, throwOnError: true });
  const codes = await Promise.all(
    writes().map(async (write) => (await write).error as { code?: string } | undefined),
  );
  expect(codes.map((error) => error?.code)).not.toContain('email_not_verified');
  await api.deleteAccount({ client, throwOnError: true });
});

test('A server without MAIL_URL says so', async () => {
  await using plain = await startApp();
  const { client, email, password } = await plain.register();
  const { data } = await api.getServer({ client });
  expect(data).toMatchObject({ name: 'Spaces', sends_mail: false });
  const body = { email: `new.${email}`, currentPassword: password };
  const attempts = [
    api.requestPasswordReset({ client, body: { email } }),
    api.requestEmailVerification({ client }),
    api.changeEmail({ client, body }),
  ];
  for (const attempt of attempts) expect(await getError(attempt)).toBe('403 mail_disabled');
  expect(await plain.context.engine.db.selectFrom('mails').select('pk').execute()).toEqual([]);
});
