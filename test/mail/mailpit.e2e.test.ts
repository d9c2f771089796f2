import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import { startApp } from '../support/app.ts';
import { findGoProgram } from '../support/go-programs.ts';
import { freePort } from '../support/ports.ts';
import { startProcess } from '../support/processes.ts';
import { recordLog } from '../support/record-log.ts';
import { waitUntil } from '../support/wait-until.ts';

// A mail server by others, in a process of its own.
const executable = findGoProgram('mailpit', 'github.com/axllent/mailpit@v1.33.1');

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mailpit-'));
  const names = ['-keyout', join(folder, 'key.pem'), '-out', join(folder, 'certificate.pem')];
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...names, ...subject], {
    stdio: 'ignore',
  });
  // The password "secret", which Mailpit also accepts as plain text.
  await writeFile(join(folder, 'passwords'), 'spaces:secret\n');
});
afterAll(() => rm(folder, { recursive: true }));

/** @param flags that require STARTTLS or TLS */
async function startMailpit(flags: string[]) {
  const [smtpPort, port] = [await freePort(), await freePort()];
  const started = startProcess(executable as string, [
    ...['--smtp', `127.0.0.1:${smtpPort}`, '--listen', `127.0.0.1:${port}`],
    ...['--smtp-auth-file', join(folder, 'passwords')],
    ...['--smtp-tls-cert', join(folder, 'certificate.pem')],
    ...['--smtp-tls-key', join(folder, 'key.pem')],
    ...['--smtp-disable-rdns', '--disable-version-check', '--enable-chaos', ...flags],
  ]);
  const url = `http://127.0.0.1:${port}/api/v1`;
  const read = async (path: string) => (await fetch(`${url}/${path}`)).json();
  await waitUntil(
    'Mailpit is ready',
    async () => (await fetch(`${url}/info`).catch(() => undefined))?.ok,
  );
  return {
    smtpPort,
    /** Resolves to the text of the only mail. */
    async receive(): Promise<string> {
      const messages = async () => (await read('messages')).messages;
      await waitUntil('a mail arrives', async () => (await messages()).length === 1, 10_000);
      const [{ ID }] = await messages();
      return (await read(`message/${ID}`)).Text;
    },
    /** Makes it reject recipients with a code, or no longer. */
    async reject(code?: number): Promise<void> {
      const triggers =
        code === undefined ? {} : { Recipient: { ErrorCode: code, Probability: 100 } };
      const response = await fetch(`${url}/chaos`, {
        method: 'PUT',
        body: JSON.stringify(triggers),
      });
      expect(response.status).toBe(200);
    },
    [Symbol.asyncDispose]: started.kill,
  };
}

test.skipIf(!executable).for([
  ['smtp', '--smtp-require-starttls'],
  ['smtps', '--smtp-require-tls'],
] as const)('Mailpit receives mail through %s with %s', async ([scheme, flag]) => {
  await using mailpit = await startMailpit([flag]);
  const address = `127.0.0.1:${mailpit.smtpPort}?tls.rejectUnauthorized=false`;
  const settings = { MAIL_FROM: 'spaces@example.org', WEB_URL: 'https://web.example.org' };
  const { log, lines } = recordLog<{ msg: string }>('warn');
  await using app = await startApp(
    { ...settings, MAIL_URL: `${scheme}://spaces:secret@${address}` },
    { log },
  );
  const sendDue = async () => {
    const due = { send_after: new Date(0).toISOString() };
    await app.context.engine.db.updateTable('mails').set(due).execute();
    app.context.mailer.wake();
  };

  await mailpit.reject(451);
  await app.register('ann');
  await waitUntil('a rejection', () => lines.length === 1);
  await mailpit.reject();
  await sendDue();
  const token = /token=(\S+)/.exec(await mailpit.receive())?.[1] ?? '';
  await api.verifyEmail({ client: app.client(), body: { token }, throwOnError: true });

  await mailpit.reject(550);
  await app.register('ben');
  await waitUntil('another rejection', () => lines.length === 2);
  expect(lines.map(({ msg }) => msg)).toEqual([
    'mail was not accepted and is postponed',
    'mail was not accepted and is deleted',
  ]);

  const wrong = { ...settings, MAIL_URL: `${scheme}://spaces:wrong@${address}` };
  await using other = await startApp(wrong, { log });
  await other.register('eve');
  await waitUntil('the password is rejected', () => lines.length === 3);
  expect(lines[2]?.msg).toBe('mail was not accepted and is postponed');
});
