import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { get } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openDatabase } from '../../server/database/open.ts';
import { eraseAccount } from '../../server/profile/account-deletion.ts';
import { avatarFile } from '../support/avatar.ts';
import { startCommand } from '../support/commands.ts';
import { freePort, occupyPort } from '../support/ports.ts';
import { type ProcessResult, type RunningProcess, startProcess } from '../support/processes.ts';
import { type Server, startServer } from '../support/server.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'commands-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** Starts a program of the server on the data folder of these tests. */
function start(
  script: string,
  args: string[] = [],
  settings: Record<string, string> = {},
  input = '',
): RunningProcess {
  const env = { TMPDIR: folder, DATA_DIR: join(folder, 'data'), ...settings };
  return startCommand(script, args, env, input);
}

/** Runs a program to its end. */
async function run(...args: Parameters<typeof start>): Promise<ProcessResult> {
  await using running = start(...args);
  return await running.result;
}

/** Sends a request on a new connection. Returns whether it succeeds. */
const succeeds = (url: string) =>
  new Promise<boolean>((resolve) => {
    get(url, { agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    }).on('error', () => resolve(false));
  });

const records = [
  {
    type: 'user',
    user_id: 'ada',
    username: 'ada',
    email: 'ada@example.com',
    created_at: '2026-01-01T00:00:00.000Z',
  },
  {
    type: 'space',
    space_id: 'bread',
    creator_id: 'ada',
    title: 'Bread',
    created_at: '2026-01-01T00:00:00.000Z',
  },
];
const lines = records.map((record) => `${JSON.stringify(record)}\n`).join('');

describe('import and export', () => {
  test('read and write files and standard streams', async () => {
    const file = join(folder, 'in.ndjson');
    await writeFile(file, lines);
    const first = await run('commands/import', [file]);
    expect(first).toMatchObject({ code: 0, stdout: expect.stringContaining('2 records added') });
    const second = await run('commands/import', ['-'], {}, lines);
    expect(second.stdout).toContain('0 records added, 2 were there already');

    const out = join(folder, 'out.ndjson');
    expect(await run('commands/export', [out])).toMatchObject({ code: 0, stdout: '' });
    const piped = await run('commands/export');
    expect(await readFile(out, 'utf8')).toBe(piped.stdout);
    const exported = piped.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(exported).toMatchObject([
      ...records,
      { type: 'participant', space_id: 'bread', user_id: 'ada' },
    ]);
  });

  test('reject a file with an invalid line and report its number', async () => {
    const { code, stderr } = await run('commands/import', ['-'], {}, `${lines}nonsense\n`);
    expect(code).toBe(1);
    expect(stderr).toContain('line 3: is not JSON');
    expect(stderr).toContain('--skip-bad');
  });
});

describe('a new database', () => {
  test('can be created after an interrupted attempt', async () => {
    for (let delay = 0; delay < 16; delay += 2) {
      const DATA_DIR = join(folder, `interrupted-${delay}`);
      const file = join(DATA_DIR, 'space-service.sqlite');
      const interrupted = start('commands/import', ['-'], { DATA_DIR }, lines);
      await expect.poll(() => existsSync(file), { interval: 1, timeout: 15_000 }).toBe(true);
      await sleep(delay);
      await interrupted.kill();
      const retried = await run('commands/import', ['-'], { DATA_DIR }, lines);
      expect(retried, `after ${delay} ms`).toMatchObject({ code: 0, stderr: '' });
    }
  }, 60_000);

  test('can be created by two processes concurrently', async () => {
    for (let i = 0; i < 4; i += 1) {
      const DATA_DIR = join(folder, `concurrent-${i}`);
      const results = await Promise.all([
        run('commands/import', ['-'], { DATA_DIR }, lines),
        run('commands/import', ['-'], { DATA_DIR }, lines),
      ]);
      for (const result of results) expect(result).toMatchObject({ code: 0, stderr: '' });
    }
  }, 60_000);
});

describe('a backup', () => {
  test.each([
    ['export', 'kept.ndjson'],
    ['backup', 'kept.sqlite'],
  ])(
    'by %s replaces the previous backup and is readable by its owner only',
    async (command, name) => {
      const file = join(folder, name);
      expect(await run(`commands/${command}`, [file])).toMatchObject({ code: 0 });
      await chmod(file, 0o644);
      const before = await stat(file);
      expect(await run(`commands/${command}`, [file])).toMatchObject({ code: 0 });
      expect(await readFile(file, 'utf8')).toContain('ada@example.com');
      const after = await stat(file);
      expect(after.ino).not.toBe(before.ino);
      expect(after.mode & 0o777).toBe(0o600);
      expect((await readdir(folder)).filter((each) => each.endsWith('.part'))).toEqual([]);
    },
  );

  test.each(['export', 'backup'])(
    'by %s of a folder without a database fails and keeps the previous backup',
    async (command) => {
      const file = join(folder, 'before');
      await writeFile(file, 'the previous backup');
      const DATA_DIR = join(folder, 'mistaken');
      const { code, stderr } = await run(`commands/${command}`, [file], { DATA_DIR });
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: `DATA_DIR=${DATA_DIR} has no database. Set it to the folder of the service's data.\n`,
      });
      expect(await readFile(file, 'utf8')).toBe('the previous backup');
      expect(existsSync(DATA_DIR)).toBe(false);
    },
  );

  test('by backup is a complete database', async () => {
    const DATA_DIR = join(folder, 'restored');
    await mkdir(DATA_DIR);
    const file = join(DATA_DIR, 'space-service.sqlite');
    expect(await run('commands/backup', [file])).toMatchObject({ code: 0 });
    expect(await run('commands/compact', [], { DATA_DIR })).toMatchObject({ code: 0 });
    const [original, restored] = await Promise.all([
      run('commands/export'),
      run('commands/export', [], { DATA_DIR }),
    ]);
    expect(restored.stdout).toBe(original.stdout);
    expect(original.stdout).toContain('bread');
  });

  test('by backup is compacted only after the rows of deleted accounts are deleted', async () => {
    const DATA_DIR = join(folder, 'interrupted');
    await mkdir(DATA_DIR);
    const file = join(DATA_DIR, 'space-service.sqlite');
    expect(await run('commands/backup', [file])).toMatchObject({ code: 0 });
    {
      await using engine = await openDatabase({ dataDir: DATA_DIR }, { runsMaintenance: false });
      const { pk: user_pk } = await engine.db
        .selectFrom('users')
        .select('pk')
        .where('email', '=', 'ada@example.com')
        .executeTakeFirstOrThrow();
      const time = new Date().toISOString();
      const { pk: sessionPk } = await engine.db
        .insertInto('sessions')
        .values({
          session_id: 'none',
          token_hash: 'none',
          user_pk,
          created_at: time,
          last_used_at: time,
        })
        .returning('pk')
        .executeTakeFirstOrThrow();
      // No time, so the transaction deletes only the first rows.
      await eraseAccount(engine, { pk: user_pk, sessionPk }, -1);
      const rows = await engine.db.selectFrom('erased_users').selectAll().execute();
      expect(rows).toEqual([{ user_pk }]);
    }
    expect(await run('commands/compact', [], { DATA_DIR })).toMatchObject({ code: 0 });
    const sqlite = new Sqlite(file);
    expect(sqlite.prepare('SELECT count(*) FROM erased_users').pluck().get()).toBe(0);
    expect(sqlite.prepare('SELECT count(*) FROM spaces').pluck().get()).toBe(0);
    sqlite.close();
  });

  test.each([['export'], ['backup']])('by %s rejects a folder as its target', async (command) => {
    const { code, stderr } = await run(`commands/${command}`, [folder]);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `${folder} exists and is not a regular file. Choose another name.\n`,
    });
  });
});

describe('verify-account and set-password', () => {
  test('verify an account and set its password', async () => {
    expect(await run('commands/verify-account', ['ADA@example.com'])).toMatchObject({
      code: 0,
    });
    const password = 'marmalade on toast';
    expect(
      await run('commands/set-password', ['ada@example.com'], {}, `${password}\n`),
    ).toMatchObject({
      code: 0,
    });
    await using server = await startServer({ DATA_DIR: join(folder, 'data') });
    const { url } = server;
    const login = await fetch(`${url}/api/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'ada@example.com', password }),
    });
    const { access_token } = await login.json();
    const profile = await fetch(`${url}/api/profile/me`, {
      headers: { authorization: `Bearer ${access_token}` },
    });
    expect(await profile.json()).toMatchObject({ username: 'ada', is_verified: true });

    // An unfinished request must not keep the server from stopping.
    const slow = connect(server.port, '127.0.0.1');
    slow.on('error', () => {});
    slow.write(
      'POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
    );
    await once(slow, 'connect');
    expect(await server.stop()).toBe(0);
    slow.destroy();
  });

  test.each([
    [
      'commands/verify-account',
      ['nobody@example.com'],
      /no account with the email address nobody@example.com/,
    ],
    ['commands/set-password', ['nobody@example.com'], /no account/],
    ['commands/set-password', ['ada@example.com'], /8 to 256/],
    ['commands/verify-account', [], /Usage/],
    ['commands/set-password', [], /Usage/],
    ['commands/import', [], /Usage/],
    ['commands/import', ['a', '--skipbad'], /Usage/],
    ['commands/import', ['no-such-file'], /no such file or directory, open 'no-such-file'/],
    ['commands/export', ['a', 'b'], /Usage/],
    ['commands/export', ['no-such-folder/a'], /no such file or directory/],
    ['commands/backup', [], /Usage/],
    ['commands/compact', ['a'], /Usage/],
  ])('print an error message without a stack trace: %s %j', async (script, args, message) => {
    const { code, stderr } = await run(script, args, {}, 'short\n');
    expect(code).toBe(1);
    expect(stderr).toMatch(message);
    expect(stderr).not.toContain('    at ');
  });

  test.each([
    ['no input', '', 1],
    ['a line without a newline', 'marmalade on toast', 0],
  ])('read a password from standard input: %s', async (_, input, code) => {
    const args = ['ada@example.com'];
    expect(await run('commands/set-password', args, {}, input)).toMatchObject({ code });
  });
});

describe('The commands for takedowns', () => {
  const settings = () => ({ DATA_DIR: join(folder, 'takedowns') });
  const PASSWORD = 'marmalade on toast';
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
    server = await startServer(settings());
    const account = await register('mallory');
    const reporter = await register('reporter');
    token = account.access_token;
    reporterToken = reporter.access_token;
    const body = { title: 'Bargains', description: '', visibility: 'public', tags: [] };
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

  const runHere = (script: string, ...args: string[]) =>
    run(`commands/${script}`, args, settings());

  test('list and close reports', async () => {
    expect(await runHere('reports')).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'Open reports: 0.\n',
    });
    const reportSpace = { reason: 'Counterfeit\ngoods' };
    await send('PUT', `/reports/spaces/${ids.space}`, reporterToken, reportSpace);
    await send('PUT', `/reports/messages/${ids.message}`, reporterToken, { reason: 'Spam' });
    const { stdout, stderr } = await runHere('reports');
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

    expect(await runHere('reports', '--close', reportId, 'unknown')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'There is no open report with the id unknown. Nothing was closed.\n',
    });
    expect((await runHere('reports', '--close', reportId)).stdout).toBe('Reports closed: 1.\n');
    expect((await runHere('reports')).stderr).toBe('Open reports: 1.\n');
  });

  test('suspend and restore an account beside a running server', async () => {
    expect(await findTitles()).toEqual(['Bargains']);
    expect(await runHere('suspend-account', 'Mallory@example.com')).toMatchObject({
      code: 0,
      stderr: '',
    });
    expect(await findTitles()).toEqual([]);
    expect((await send('GET', '/profile/me', token)).status).toBe(401);
    const rejected = await login();
    expect(rejected.status).toBe(403);
    expect(await rejected.json()).toMatchObject({ code: 'account_suspended' });

    expect(await runHere('restore-account', ids.user)).toMatchObject({ code: 0, stderr: '' });
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
    expect(await runHere('remove-avatar', ids.user)).toMatchObject({ code: 0, stderr: '' });
    expect((await fetch(profile_picture)).status).toBe(404);
    expect(await (await send('GET', '/profile/me', token)).json()).toMatchObject({
      profile_picture: expect.stringMatching(/default\.webp$/),
    });
    expect(await readdir(join(server.dataDir, 'avatars'))).toEqual(['default.webp']);
  });

  test('change an email address', async () => {
    await runHere('verify-account', 'mallory@example.com');
    expect(await runHere('set-email', 'mallory@example.com', 'New@example.com')).toMatchObject({
      code: 0,
      stderr: '',
    });
    expect(await (await send('GET', '/profile/me', token)).json()).toMatchObject({
      email: 'New@example.com',
      is_verified: false,
    });
    expect((await login()).status).toBe(401);
    expect(await runHere('set-email', ids.user, 'REPORTER@example.com')).toMatchObject({
      code: 1,
      stderr: 'Another account has the email address REPORTER@example.com.\n',
    });
    expect((await runHere('set-email', ids.user, 'no address')).stderr).toMatch(
      /^This is not an email address\./,
    );
    expect(await runHere('set-email', ids.user, 'mallory@example.com')).toMatchObject({ code: 0 });
    expect((await login()).status).toBe(200);
  });

  test('remove a message and a space', async () => {
    expect(await runHere('remove-message', ids.message)).toMatchObject({ code: 0, stderr: '' });
    const messages = await fetch(`${server.url}/api/messages?space_id=${ids.space}`);
    expect(await messages.json()).toEqual([]);
    expect(await runHere('remove-space', ids.space)).toMatchObject({ code: 0, stderr: '' });
    expect(await findTitles()).toEqual([]);
    expect((await runHere('reports')).stderr).toBe('Open reports: 0.\n');
  });

  test('delete a suspended account, but no other', async () => {
    expect(await runHere('delete-account', ids.user)).toMatchObject({
      code: 1,
      stderr: `The account ${ids.user} is not suspended. Suspend it first with: npm run suspend-account -- ${ids.user}\n`,
    });
    expect((await login()).status).toBe(200);
    await runHere('suspend-account', ids.user);
    expect(await runHere('delete-account', ids.user)).toMatchObject({ code: 0, stderr: '' });
    expect((await login()).status).toBe(401);
    expect((await runHere('delete-account', ids.user)).code).toBe(1);
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
        expect(await runHere(command, id)).toEqual({
          code: 1,
          stdout: '',
          stderr: `${message} ${id}.\n`,
        });
      }
      for (const args of [[], ['a', 'b'], ['--unknown']]) {
        const { code, stderr } = await runHere(command, ...args);
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
    expect(await runHere(command, ...args)).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(message),
    });
  });
});

describe('npm start', () => {
  test('rejects an invalid setting with one line', async () => {
    const { code, stderr } = await run('main', [], { PORT: 'http' });
    expect({ code, stderr }).toEqual({
      code: 78,
      stderr: 'PORT=http is invalid: must be a whole number from 0 to 65535.\n',
    });
  });

  test('rejects a port that is in use with one line', async () => {
    await using occupied = await occupyPort();
    const PORT = String(occupied.port);
    const { code, stderr } = await run('main', [], { PORT });
    expect(code).toBe(78);
    expect(stderr).toBe(`PORT=${PORT} is in use on 127.0.0.1. Set PORT to another number.\n`);
  });

  const unusable: [string, (file: string) => void, RegExp][] = [
    [
      'that is not a database',
      (file) => writeFileSync(file, 'a'.repeat(4096)),
      /is not a SQLite database/,
    ],
    [
      'that is damaged',
      (file) => {
        const sqlite = new Sqlite(file);
        sqlite.exec('CREATE TABLE kysely_migration (name)');
        sqlite.close();
        writeFileSync(file, readFileSync(file).fill(0xff, 100, 4096));
      },
      /is damaged\. Restore it from a backup/,
    ],
    [
      'of another program',
      (file) => new Sqlite(file).exec('CREATE TABLE notes (text)').close(),
      /is the database of another program/,
    ],
    [
      'of a newer version',
      (file) =>
        new Sqlite(file)
          .exec('CREATE TABLE kysely_migration (name, timestamp)')
          .exec("INSERT INTO kysely_migration VALUES ('9999-later', '2099-01-01')")
          .close(),
      /was migrated by a newer version/,
    ],
  ];
  test.each(unusable)(
    'rejects a database file %s with one line and leaves it unchanged',
    async (name, createFile, message) => {
      const DATA_DIR = join(folder, name.replaceAll(' ', '-'));
      const file = join(DATA_DIR, 'space-service.sqlite');
      await mkdir(DATA_DIR);
      createFile(file);
      const before = await readFile(file);
      const PORT = String(await freePort());
      const { code, stderr } = await run('main', [], { DATA_DIR, PORT });
      expect(code).toBe(78);
      expect(stderr).toMatch(message);
      expect(stderr.trim().split('\n')).toHaveLength(1);
      expect(stderr).toContain(file);
      expect(await readFile(file)).toEqual(before);
    },
  );

  test.each([
    [{ HOST: 'no.such.host.invalid' }, /no\.such\.host\.invalid/],
    [{ HOST: '203.0.113.1' }, /203\.0\.113\.1/],
    [{ HOST: '999.1.1.1' }, /^HOST=999\.1\.1\.1 is invalid/],
    [{ DATA_DIR: '/dev/null' }, /\/dev\/null/],
  ])('rejects %j with one line', async (settings, message) => {
    const PORT = String(await freePort());
    const { code, stderr } = await run('main', [], { PORT, ...settings });
    expect(code).toBe(78);
    expect(stderr).toMatch(message);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });

  test('logs its start and its stop', async () => {
    const DATA_DIR = join(folder, 'logged');
    const PORT = String(await freePort());
    await using server = start('main', [], { DATA_DIR, PORT, HOST: '0.0.0.0' });
    await expect
      .poll(() => succeeds(`http://127.0.0.1:${PORT}/readyz`), { timeout: 15_000 })
      .toBe(true);
    server.child.kill('SIGTERM');
    await server.result;
    const log = server
      .stdout()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(log[0]).toMatchObject({ msg: 'starting', dataDir: DATA_DIR, database: 'new' });
    expect(log[1].msg).toContain('PUBLIC_URL is not set');
    expect(log.map(({ msg }) => msg).slice(-2)).toEqual(['stopping', 'stopped']);
    expect((await stat(DATA_DIR)).mode & 0o777).toBe(0o700);
    for (const name of await readdir(DATA_DIR)) {
      expect((await stat(join(DATA_DIR, name))).mode & 0o077).toBe(0);
    }
  });

  test('starts several workers, replaces a killed one and stops all of them', async () => {
    await using server = await startServer({ WORKERS: '2', LOG_LEVEL: 'info' });
    const search = `${server.url}/api/spaces/search?q=bread`;
    /** Waits until this many workers have responded since the start. */
    const waitForWorkers = (count: number) =>
      expect
        .poll(async () => (await succeeds(search)) && workers().size, { timeout: 15_000 })
        .toBe(count);
    const workers = () =>
      new Set(
        [...server.output().matchAll(/"pid":(\d+),[^\n]*request answered/g)].map(([, pid]) =>
          Number(pid),
        ),
      );
    await waitForWorkers(2);

    const [killed] = workers();
    process.kill(killed as number, 'SIGKILL');
    await expect
      .poll(server.output, { timeout: 15_000 })
      .toContain('worker exited, starting another one');
    await waitForWorkers(3);
    expect(await server.stop()).toBe(0);
    expect(await succeeds(search)).toBe(false);
  }, 40_000);
});

describe('npm run demo', () => {
  test('prints commands that succeed when pasted, and deletes its files', async () => {
    await using demo = start('commands/demo', [], { PORT: String(await freePort()) });
    await expect.poll(demo.stdout, { timeout: 15_000 }).toContain('person30@example.com');
    const pasted = demo
      .stdout()
      .split('\n')
      .filter((line) => /^ {2}/.test(line))
      .slice(5)
      .join('\n');
    // Prints the status of each response on its own line.
    const script = pasted.replaceAll(`-w '\\n'`, `-s -w '\\n%{http_code}\\n'`);
    await using shell = startProcess('bash', ['-e'], {}, script);
    const { stdout } = await shell.result;
    const statuses = stdout.split('\n').filter((line) => /^\d{3}$/.test(line));
    expect(statuses).toEqual(Array(11).fill('200'));
    expect(stdout).toContain('"title":"Bread"');
    expect(stdout).toContain('"title":"Astronomy"');
    expect(stdout).toContain('Your username is now ada.lovelace.');

    const data = /avatar=@(\S+)\/avatar\.jpg/.exec(demo.stdout())?.[1] ?? '';
    expect(existsSync(data)).toBe(true);
    demo.child.kill('SIGINT');
    expect((await demo.result).code).toBe(0);
    expect(existsSync(data)).toBe(false);
  }, 40_000);
});
