import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { runCommand, startProgram } from '../support/commands.ts';
import { freePort } from '../support/ports.ts';
import { startProcess } from '../support/processes.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'demo-'));
});
afterAll(() => rm(folder, { recursive: true }));

describe('npm run demo', () => {
  test('uses a free port with PORT=0, and prints its links', async () => {
    await using demo = startProgram('demo', [], { TMPDIR: folder, PORT: '0' });
    await expect.poll(demo.stdout).toContain('person29@example.com');
    const [, contractUrl = ''] = /The contract +(\S+)/.exec(demo.stdout()) ?? [];
    const contract = await fetch(contractUrl);
    expect(contract.status).toBe(200);
    const { description } = parse(await contract.text()).info;
    expect(description).toMatch(/^\*\*This is a demo\.\*\* .+\n.+\n.+\n\nDiscussion rooms/);
    const shown = await fetch(contractUrl.replace('/openapi.yaml', '/docs/contract.json'));
    expect((await shown.json()).info.description).toMatch(/^\*\*This is a demo\.\*\*/);
  });

  test('shows its mail in the terminal and at a URL', async () => {
    await using demo = startProgram('demo', [], { TMPDIR: folder, PORT: '0' });
    await expect.poll(demo.stdout).toContain('person29@example.com');
    const [, mailUrl = ''] = /Mail of the demo +(\S+)/.exec(demo.stdout()) ?? [];
    expect(await (await fetch(mailUrl)).text()).toContain('No mail has been sent yet.');
    const request = await fetch(mailUrl.replace('/demo-mails', '/api/auth/password-resets'), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'ada@example.com' }),
    });
    expect(request.status).toBe(202);
    await expect
      .poll(demo.stdout)
      .toMatch(/Mail to ada@example\.com: [\s\S]*\/#\/reset-password\?token=spm_/);
    expect(await (await fetch(mailUrl)).text()).toMatch(/<a href="http[^"]+token=spm_[^"]+">/);
  });

  test('ignores the settings of another service', async () => {
    await using demo = startProgram('demo', [], {
      TMPDIR: folder,
      PORT: '0',
      PUBLIC_URL: 'https://spaces.example.org',
      CDN_URL: 'https://cdn.example.org',
      DATABASE_URL: 'postgres://no.such.host.invalid/spaces',
      AVATARS_BUCKET: 'avatars-of-another-service',
      REGISTRATION: 'closed',
      MAX_SPACES: 'many',
    });
    await expect.poll(demo.stdout).toContain('person29@example.com');
    expect(demo.stdout()).not.toContain('https://');
    const [, url = ''] = /API reference +(\S+)\/docs/.exec(demo.stdout()) ?? [];
    const newUser = { username: 'newcomer', email: 'a@example.org', password: 'honey on crumpets' };
    const response = await fetch(`${url}/api/auth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(newUser),
    });
    expect(response.status).toBe(201);
  });

  test('names the reason if it cannot listen on HOST, instead of a port in use', async () => {
    const { code, stdout, stderr } = await runCommand('demo', [], {
      TMPDIR: folder,
      HOST: 'nowhere.invalid',
    });
    expect(code).toBe(1);
    expect(stdout).toBe('');
    expect(stderr).toContain('nowhere.invalid');
  });

  test('prints commands that succeed when pasted, and deletes its files', async () => {
    await using demo = startProgram('demo', [], {
      TMPDIR: folder,
      PORT: String(await freePort()),
    });
    await expect.poll(demo.stdout).toContain('person29@example.com');
    const [, commands = ''] = demo.stdout().split(/^(?= {2}TOKEN=)/m);
    const pasted = commands
      .split('\n')
      .filter((line) => /^ {2}/.test(line))
      .join('\n');
    // Prints the status of each response on its own line.
    const script = pasted.replaceAll(`-w '\\n'`, `-s -w '\\n%{http_code}\\n'`);
    await using shell = startProcess('bash', ['-e'], {}, script);
    const { stdout } = await shell.result;
    // The printed session still works.
    const [, token = ''] = /TOKEN=(\S+)/.exec(commands) ?? [];
    const [, url = ''] = /API reference +(\S+)\/docs/.exec(demo.stdout()) ?? [];
    const profile = await fetch(`${url}/api/profile/me`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(profile.status).toBe(200);
    const statuses = stdout.split('\n').filter((line) => /^\d{3}$/.test(line));
    expect(statuses).toEqual(Array(12).fill('200'));
    expect(stdout).toContain('"title":"Bread"');
    expect(stdout).toContain('"title":"Astronomy"');
    expect(stdout).toContain('Your username is now ada.lovelace.');

    const data = /avatar=@(\S+)\/avatar\.jpg/.exec(demo.stdout())?.[1] ?? '';
    expect(existsSync(data)).toBe(true);
    demo.child.kill('SIGINT');
    expect((await demo.result).code).toBe(0);
    expect(existsSync(data)).toBe(false);
  });

  test('deletes its files when its terminal is closed', async () => {
    await using demo = startProgram('demo', [], { TMPDIR: folder, PORT: '0' });
    await expect.poll(demo.stdout).toContain('person29@example.com');
    const data = /avatar=@(\S+)\/avatar\.jpg/.exec(demo.stdout())?.[1] ?? '';
    demo.child.kill('SIGHUP');
    await demo.exited;
    expect(existsSync(data)).toBe(false);
  });
});
