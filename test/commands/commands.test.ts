import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { get } from 'node:http';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import Sqlite from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'commands-'));
});
afterAll(() => rm(folder, { recursive: true }));

interface Running {
  child: ChildProcess;
  output: () => string;
  ended: Promise<{ code: number | null; output: string; errors: string }>;
}

/** Starts a program of the server's, as the scripts in package.json do. */
function start(
  script: string,
  args: string[] = [],
  settings: Record<string, string> = {},
  input = '',
): Running {
  const child = spawn(
    process.execPath,
    ['--import', './server/node-version.js', `server/${script}.ts`, ...args],
    {
      env: { PATH: process.env.PATH, TMPDIR: folder, DATA_DIR: join(folder, 'data'), ...settings },
    },
  );
  child.stdin?.end(input);
  let seen = '';
  child.stdout?.on('data', (chunk) => {
    seen += chunk;
  });
  const ended = Promise.all([once(child, 'exit'), text(child.stdout), text(child.stderr)]).then(
    ([[code], output, errors]) => ({ code, output, errors }),
  );
  return { child, output: () => seen, ended };
}

async function until(isDone: () => boolean | Promise<boolean>, interval = 50): Promise<void> {
  const deadline = Date.now() + 15_000;
  while (!(await isDone())) {
    if (Date.now() > deadline) expect.fail('It does not happen.');
    await new Promise((resolve) => setTimeout(resolve, interval));
  }
}

async function freePort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return String(port);
}

/** Whether a request on a connection of its own succeeds. */
const answers = (url: string) =>
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

describe('Data', () => {
  test('goes in from a file and from standard input, and comes out to a file and to standard output', async () => {
    const file = join(folder, 'in.ndjson');
    await writeFile(file, lines);
    const first = await start('commands/import', [file]).ended;
    expect(first).toMatchObject({ code: 0, output: expect.stringContaining('2 records added') });
    const second = await start('commands/import', ['-'], {}, lines).ended;
    expect(second.output).toContain('0 records added, 2 were there already');

    const out = join(folder, 'out.ndjson');
    expect(await start('commands/export', [out]).ended).toMatchObject({ code: 0, output: '' });
    const piped = await start('commands/export').ended;
    expect(await readFile(out, 'utf8')).toBe(piped.output);
    const exported = piped.output
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(exported).toMatchObject([
      ...records,
      { type: 'participant', space_id: 'bread', user_id: 'ada' },
    ]);
  });

  test('with bad lines stays out, and the lines are named', async () => {
    const { code, errors } = await start('commands/import', ['-'], {}, `${lines}nonsense\n`).ended;
    expect(code).toBe(1);
    expect(errors).toContain('line 3: is not JSON');
    expect(errors).toContain('--skip-bad');
  });
});

describe('A database that is not there yet', () => {
  test('can be made however often the making was cut short', async () => {
    for (let delay = 0; delay < 16; delay += 2) {
      const DATA_DIR = join(folder, `cut-short-${delay}`);
      const file = join(DATA_DIR, 'space-service.sqlite');
      const { child, ended } = start('commands/import', ['-'], { DATA_DIR }, lines);
      await until(() => existsSync(file), 1);
      await new Promise((resolve) => setTimeout(resolve, delay));
      child.kill('SIGKILL');
      await ended;
      const again = await start('commands/import', ['-'], { DATA_DIR }, lines).ended;
      expect(again, `after ${delay} ms`).toMatchObject({ code: 0, errors: '' });
    }
  }, 60_000);

  test('can be made by two at once', async () => {
    for (let i = 0; i < 4; i += 1) {
      const DATA_DIR = join(folder, `two-at-once-${i}`);
      const both = await Promise.all([
        start('commands/import', ['-'], { DATA_DIR }, lines).ended,
        start('commands/import', ['-'], { DATA_DIR }, lines).ended,
      ]);
      for (const each of both) expect(each).toMatchObject({ code: 0, errors: '' });
    }
  }, 60_000);
});

describe('A backup', () => {
  test.each([
    ['export', 'kept.ndjson'],
    ['backup', 'kept.sqlite'],
  ])('by %s takes the place of the one before, for its owner alone', async (command, name) => {
    const file = join(folder, name);
    await writeFile(file, 'the one before');
    expect(await start(`commands/${command}`, [file]).ended).toMatchObject({ code: 0 });
    expect(await readFile(file, 'utf8')).toContain('ada@example.com');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readdir(folder)).not.toContain(`${name}.part`);
  });

  test.each(['export', 'backup'])(
    'by %s of a folder without a database leaves the one before as it was, and makes nothing',
    async (command) => {
      const file = join(folder, 'before');
      await writeFile(file, 'the one before');
      const DATA_DIR = join(folder, 'mistaken');
      const { code, errors } = await start(`commands/${command}`, [file], { DATA_DIR }).ended;
      expect({ code, errors }).toEqual({
        code: 1,
        errors: `DATA_DIR=${DATA_DIR} has no database. Set it to the folder of the service's data.\n`,
      });
      expect(await readFile(file, 'utf8')).toBe('the one before');
      expect(existsSync(DATA_DIR)).toBe(false);
    },
  );

  test('by copy of the database is all that a server needs', async () => {
    const DATA_DIR = join(folder, 'restored');
    await mkdir(DATA_DIR);
    const file = join(DATA_DIR, 'space-service.sqlite');
    expect(await start('commands/backup', [file]).ended).toMatchObject({ code: 0 });
    expect(await start('commands/compact', [], { DATA_DIR }).ended).toMatchObject({ code: 0 });
    const [here, there] = await Promise.all([
      start('commands/export').ended,
      start('commands/export', [], { DATA_DIR }).ended,
    ]);
    expect(there.output).toBe(here.output);
    expect(here.output).toContain('bread');
  });

  test.each([['export'], ['backup']])('by %s does not replace a folder', async (command) => {
    const { code, errors } = await start(`commands/${command}`, [folder]).ended;
    expect({ code, errors }).toEqual({ code: 1, errors: `${folder} is there, and is no file.\n` });
  });
});

describe('The operator', () => {
  test('verifies an account and gives it a password, with which it signs in', async () => {
    expect(await start('commands/verify-account', ['ADA@example.com']).ended).toMatchObject({
      code: 0,
    });
    const password = 'marmalade on toast';
    expect(
      await start('commands/set-password', ['ada@example.com'], {}, `${password}\n`).ended,
    ).toMatchObject({
      code: 0,
    });
    const PORT = await freePort();
    const server = start('main', [], { PORT });
    const url = `http://127.0.0.1:${PORT}`;
    await until(() => answers(`${url}/readyz`));
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

    // A client that never finishes its request does not keep the server from ending.
    const rude = connect(Number(PORT), '127.0.0.1');
    rude.on('error', () => {});
    rude.write(
      'POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
    );
    await once(rude, 'connect');
    server.child.kill('SIGTERM');
    expect((await server.ended).code).toBe(0);
    rude.destroy();
  });

  test.each([
    [
      'commands/verify-account',
      ['nobody@example.com'],
      /no account with the address nobody@example.com/,
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
  ])('is told what is wrong by %s %j', async (script, args, message) => {
    const { code, errors } = await start(script, args, {}, 'short\n').ended;
    expect(code).toBe(1);
    expect(errors).toMatch(message);
    expect(errors).not.toContain('    at ');
  });

  test.each([
    ['nothing', '', 1],
    ['a line that does not end', 'marmalade on toast', 0],
  ])('may be asked for a password and give %s', async (_, input, code) => {
    const args = ['ada@example.com'];
    expect(await start('commands/set-password', args, {}, input).ended).toMatchObject({ code });
  });
});

describe('The server', () => {
  test('does not start with a setting that is not possible, and says so in a line', async () => {
    const { code, errors } = await start('main', [], { PORT: 'http' }).ended;
    expect({ code, errors }).toEqual({
      code: 78,
      errors: 'PORT=http is invalid: must be a whole number from 0 to 65535.\n',
    });
  });

  test('does not start on a port that is in use, and says so in a line', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as { port: number };
    const { code, errors } = await start('main', [], { PORT: String(port) }).ended;
    expect(code).toBe(78);
    expect(errors).toBe(`PORT=${port} is in use on 127.0.0.1. Set PORT to another number.\n`);
    other.close();
  });

  const unusable: [string, (file: string) => void, RegExp][] = [
    ['is no database', (file) => writeFileSync(file, 'a'.repeat(4096)), /is not a SQLite database/],
    [
      'is damaged',
      (file) => {
        const sqlite = new Sqlite(file);
        sqlite.exec('CREATE TABLE kysely_migration (name)');
        sqlite.close();
        writeFileSync(file, readFileSync(file).fill(0xff, 100, 4096));
      },
      /is damaged\. Restore it from a backup/,
    ],
    [
      'is of another program',
      (file) => new Sqlite(file).exec('CREATE TABLE notes (text)').close(),
      /is the database of another program/,
    ],
    [
      'is of a newer version',
      (file) =>
        new Sqlite(file)
          .exec('CREATE TABLE kysely_migration (name, timestamp)')
          .exec("INSERT INTO kysely_migration VALUES ('9999-later', '2099-01-01')")
          .close(),
      /was brought up to date by a newer version/,
    ],
  ];
  test.each(unusable)(
    'does not start on a file that %s, says so in a line, and leaves it as it is',
    async (name, make, message) => {
      const DATA_DIR = join(folder, name.replaceAll(' ', '-'));
      const file = join(DATA_DIR, 'space-service.sqlite');
      await mkdir(DATA_DIR);
      make(file);
      const before = await readFile(file);
      const PORT = await freePort();
      const { code, errors } = await start('main', [], { DATA_DIR, PORT }).ended;
      expect(code).toBe(78);
      expect(errors).toMatch(message);
      expect(errors.trim().split('\n')).toHaveLength(1);
      expect(errors).toContain(file);
      expect(await readFile(file)).toEqual(before);
    },
  );

  test.each([
    [{ HOST: 'no.such.host.invalid' }, /no\.such\.host\.invalid/],
    [{ HOST: '203.0.113.1' }, /203\.0\.113\.1/],
    [{ HOST: '999.1.1.1' }, /^HOST=999\.1\.1\.1 is invalid/],
    [{ DATA_DIR: '/dev/null' }, /\/dev\/null/],
  ])('does not start where it cannot be: %j, and says so in a line', async (settings, message) => {
    const PORT = await freePort();
    const { code, errors } = await start('main', [], { PORT, ...settings }).ended;
    expect(code).toBe(78);
    expect(errors).toMatch(message);
    expect(errors.trim().split('\n')).toHaveLength(1);
  });

  test('tells its log what it starts on, and that it stops', async () => {
    const DATA_DIR = join(folder, 'told');
    const PORT = await freePort();
    const server = start('main', [], { DATA_DIR, PORT, HOST: '0.0.0.0' });
    await until(() => answers(`http://127.0.0.1:${PORT}/readyz`));
    server.child.kill('SIGTERM');
    await server.ended;
    const log = server
      .output()
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

  const old = ['/usr/bin/node', '/usr/local/bin/node'].find((each) => existsSync(each));
  test.skipIf(!old)('refuses a Node.js that is too old, in a line', async () => {
    const child = spawn(old as string, ['--import', './server/node-version.js', 'server/main.ts']);
    const [version, errors] = [spawn(old as string, ['--version']), await text(child.stderr)];
    const major = Number((await text(version.stdout)).slice(1).split('.', 1)[0]);
    if (major < 24) expect(errors).toMatch(/^space-service needs Node\.js 24 or newer.*\n$/);
  });

  test('runs in several processes, replaces one that is killed, and ends them all', async () => {
    const PORT = await freePort();
    const server = start('main', [], { PORT, WORKERS: '2', DATA_DIR: join(folder, 'workers') });
    const search = `http://127.0.0.1:${PORT}/api/spaces/search?q=bread`;
    await until(() => answers(search));
    const workers = () =>
      new Set(
        [...server.output().matchAll(/"pid":(\d+),[^\n]*request answered/g)].map(([, pid]) =>
          Number(pid),
        ),
      );
    await until(async () => (await answers(search)) && workers().size === 2);

    const [victim] = workers();
    process.kill(victim as number, 'SIGKILL');
    await until(() => server.output().includes('worker exited, starting another one'));
    await until(async () => (await answers(search)) && workers().size === 3);
    server.child.kill('SIGTERM');
    expect((await server.ended).code).toBe(0);
    expect(await answers(search)).toBe(false);
  }, 40_000);
});

describe('The demonstration', () => {
  test('prints lines that work as pasted, for each endpoint, and leaves nothing behind', async () => {
    const demo = start('commands/demo', [], { PORT: await freePort() });
    await until(() => demo.output().includes('person30@example.com'));
    const pasted = demo
      .output()
      .split('\n')
      .filter((line) => /^ {2}/.test(line))
      .slice(3)
      .join('\n');
    const shell = spawn('bash', ['-e'], { env: { PATH: process.env.PATH } });
    // Every answer with its status on a line of its own.
    shell.stdin.end(pasted.replaceAll(`-w '\\n'`, `-s -w '\\n%{http_code}\\n'`));
    const output = await text(shell.stdout);
    const statuses = output.split('\n').filter((line) => /^\d{3}$/.test(line));
    expect(statuses).toEqual(Array(11).fill('200'));
    expect(output).toContain('"title":"Bread"');
    expect(output).toContain('"title":"Astronomy"');
    expect(output).toContain('Your username is now ada.lovelace.');

    const data = /avatar=@(\S+)\/picture\.jpg/.exec(demo.output())?.[1] ?? '';
    expect(existsSync(data)).toBe(true);
    demo.child.kill('SIGINT');
    expect((await demo.ended).code).toBe(0);
    expect(existsSync(data)).toBe(false);
  }, 40_000);
});
