import { execFile } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { publint } from 'publint';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { overview } from '../../server/command-line/help.ts';
import { commands } from '../../server/commands/index.ts';
import { toNdjson } from '../support/ndjson.ts';
import { freePort } from '../support/ports.ts';
import { whileRunning } from '../support/processes.ts';
import { type Installation, installPackage } from './installation.ts';
import { importsIn, isParsedByOldNode, staticModulesOf } from './modules.ts';

/** Makes every process and thread print the flags of Node.js that it runs with. */
const PRINT_FLAGS =
  "--import=data:text/javascript,console.error('flags',process.pid,process.execArgv.join())";

let folder: string;
let installation: Installation;
let project: string;
let dataDir: string;

beforeAll(async () => {
  // The system's temporary folder can be a symbolic link.
  folder = await realpath(await mkdtemp(join(tmpdir(), 'space-server-')));
  const dependencies = Object.keys(manifest.dependencies);
  installation = await installPackage('space-service-server', dependencies, folder);
  project = installation.project;
  dataDir = join(project, 'data');
});
afterAll(() => rm(folder, { recursive: true }));

/** Starts a command of the installed program. */
const start = (args: string[], env?: Record<string, string>, input?: string) =>
  installation.start('space-service', args, { DATA_DIR: dataDir, ...env }, input);

/** Runs a command of the installed program to its end. */
const run = (args: string[], env?: Record<string, string>, input?: string) =>
  installation.run('space-service', args, { DATA_DIR: dataDir, ...env }, input);

/** Starts `space-service start` and waits until it is ready. */
async function startServer(env: Record<string, string> = {}) {
  const port = String(await freePort());
  const server = start(['start'], { PORT: port, RATE_LIMITS: 'off', ...env });
  const url = `http://127.0.0.1:${port}`;
  const status = async () => (await fetch(`${url}/readyz`).catch(() => undefined))?.status;
  await whileRunning(server, expect.poll(status).toBe(200));
  return {
    url,
    output: server.output,
    pid: server.child.pid as number,
    async stop() {
      server.child.kill('SIGTERM');
      return await server.exited;
    },
    [Symbol.asyncDispose]: server.kill,
  };
}

async function search(url: string, query: string): Promise<string[]> {
  const response = await fetch(`${url}/api/spaces/search?q=${query}`);
  const results: { title: string }[] = await response.json();
  return results.map(({ title }) => title);
}

describe('the program of the package', () => {
  test.each([
    ['server/cli.js', ['server/process/node-version.js', 'server/process/exit-codes.js']],
    [
      'server/process/preload.js',
      [
        'server/process/node-version.js',
        'server/process/dependencies.js',
        'server/process/compile-cache.js',
        'server/process/exit-codes.js',
      ],
    ],
  ])(
    '%s checks the version of Node.js before an older one has to parse other modules',
    async (entry, imports) => {
      const modules = await staticModulesOf(installation.path, entry);
      expect(modules).toEqual([entry, ...imports]);
      for (const each of modules) {
        expect(await isParsedByOldNode(join(installation.path, each)), each).toBe(true);
      }
    },
  );

  test('starts a demo, which answers a search and stops on SIGTERM', async () => {
    const port = String(await freePort());
    await using demo = start(['demo'], { PORT: port });
    await expect.poll(demo.stdout).toContain('person30@example.com');
    const url = `http://127.0.0.1:${port}`;
    expect(await search(url, 'bread')).toContain('Bread');
    expect((await fetch(`${url}/docs/`)).status).toBe(200);
    expect(await (await fetch(url)).text()).toContain('<title>Spaces</title>');
    const contract = await fetch(`${url}/openapi.yaml`);
    expect(await contract.text()).toContain('operationId: searchSpaces');

    const data = /avatar=@(\S+)\/avatar\.jpg/.exec(demo.stdout())?.[1] ?? '';
    expect(dirname(data)).toBe(project);
    demo.child.kill('SIGTERM');
    expect(await demo.exited).toBe(0);
    expect(existsSync(data)).toBe(false);
  });

  test('imports, changes, serves, exports, backs up and compacts data', async () => {
    const records = [
      { type: 'user', user_id: 'ada', username: 'ada', email: 'ada@example.com' },
      { type: 'space', space_id: 'bread', creator_id: 'ada', title: 'Bread' },
    ];
    const file = join(project, 'in.ndjson');
    await writeFile(file, toNdjson(records));
    expect(await run(['import', file])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('2 records added'),
    });
    const password = 'marmalade on toast';
    expect(await run(['set-password', 'ada@example.com'], {}, password)).toMatchObject({ code: 0 });
    expect(await run(['verify-account', 'ada@example.com'])).toMatchObject({ code: 0 });

    await using server = await startServer();
    expect(await search(server.url, 'bread')).toEqual(['Bread']);
    const login = await fetch(`${server.url}/api/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'ada@example.com', password }),
    });
    const { access_token } = await login.json();
    const profile = await fetch(`${server.url}/api/profile/me`, {
      headers: { authorization: `Bearer ${access_token}` },
    });
    const { username, is_verified, profile_picture } = await profile.json();
    expect({ username, is_verified }).toEqual({ username: 'ada', is_verified: true });
    const avatar = await fetch(profile_picture);
    expect(avatar.headers.get('content-type')).toBe('image/webp');

    const exported = await run(['export']);
    expect(exported.stdout).toContain('"title":"Bread"');
    const restored = join(project, 'restored');
    await mkdir(restored);
    expect(await run(['backup', join(restored, 'space-service.sqlite')])).toMatchObject({
      code: 0,
    });
    expect(await server.stop()).toBe(0);
    expect(await run(['compact'], { DATA_DIR: restored })).toMatchObject({ code: 0 });
    const copy = await run(['export'], { DATA_DIR: restored });
    expect(copy.stdout).toBe(exported.stdout);
  });

  test('erases accounts on its maintenance thread', async () => {
    await using server = await startServer({ DATA_DIR: join(project, 'erased') });
    const headers = { 'content-type': 'application/json' };
    const account = { username: 'bob', email: 'bob@example.com', password: 'honey on crumpets' };
    const body = JSON.stringify(account);
    const registered = await fetch(`${server.url}/api/auth/register`, {
      method: 'POST',
      headers,
      body,
    });
    const { access_token } = await registered.json();
    const deletion = await fetch(`${server.url}/api/profile/account`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${access_token}` },
    });
    expect(deletion.status).toBe(200);
    expect(await server.stop()).toBe(0);
  });

  test('runs several workers with the flags of npm start, and stops all of them on SIGTERM', async () => {
    await using server = await startServer({
      WORKERS: '2',
      LOG_LEVEL: 'info',
      NODE_OPTIONS: PRINT_FLAGS,
    });
    const workers = () =>
      new Set(
        [...server.output().matchAll(/"pid":(\d+),[^\n]*request answered/g)].map(([, pid]) => pid),
      );
    const searchOnce = async () => {
      const url = `${server.url}/api/spaces/search?q=bread`;
      await fetch(url, { headers: { connection: 'close' } });
      return workers().size;
    };
    await expect.poll(searchOnce).toBe(2);

    const pids = [String(server.pid), ...workers()];
    for (const pid of pids) {
      expect(server.output()).toMatch(
        new RegExp(
          `^flags ${pid} --max-semi-space-size=8,--max-old-space-size=256,--import,file:.*/preload.js$`,
          'm',
        ),
      );
    }
    expect(await server.stop()).toBe(0);
    for (const pid of pids) expect(() => process.kill(Number(pid), 0)).toThrow('ESRCH');
  });

  test('lets flags of Node.js override its own', async () => {
    const program = join(installation.path, 'server/cli.js');
    const args = ['--max-old-space-size=300', program, 'start', '--help'];
    const env = { ...process.env, NODE_OPTIONS: PRINT_FLAGS };
    const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { env });
    expect(stdout).toContain('Usage: space-service start\n');
    expect(stderr).toMatch(/--max-old-space-size=256,\S+,--max-old-space-size=300$/m);
  });
});

describe('the command line of the package', () => {
  test('has help that names this program', async () => {
    const { code, stdout, stderr } = await run(['export', '--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^Usage: space-service export \[FILE\.ndjson\]\n\n/);
    expect(stdout).not.toContain('npm run');
  });

  test('prints its commands and its version', async () => {
    expect(await run(['--help'])).toEqual({
      code: 0,
      stdout: `${overview(commands)}\n`,
      stderr: '',
    });
    const version = `${manifest.version}\n`;
    expect(await run(['--version'])).toEqual({ code: 0, stdout: version, stderr: '' });
  });

  test.each([
    [['strat'], 'Unknown command "strat". Run "space-service --help" to list the commands.\n'],
    [
      ['toString'],
      'Unknown command "toString". Run "space-service --help" to list the commands.\n',
    ],
    [[], 'No command. Run "space-service --help" to list the commands.\n'],
    [['backup'], 'FILE is missing.\nUsage: space-service backup FILE\n'],
    [['compact', '--now'], 'Unknown option --now.\nUsage: space-service compact\n'],
  ])('rejects %j with the reason', async (args, stderr) => {
    expect(await run(args)).toEqual({ code: 1, stdout: '', stderr });
  });
});

describe('the contents of the package', () => {
  const filesIn = (path: string, pattern: string) =>
    globSync(pattern, { cwd: path, exclude: ['node_modules/**'] }).sort();

  test('are the server, the stateful mock, the contract, the settings, the page of the demo and the documents', () => {
    const files = filesIn(installation.path, '{.*,*}').filter((name) => name !== 'node_modules');
    expect(files).toEqual([
      '.env.example',
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'examples',
      'generated',
      'mock',
      'openapi.yaml',
      'package.json',
      'server',
    ]);
  });

  test('are a compiled module for each module of the server, and the files next to them', () => {
    const source = filesIn('server', '**/*.*').filter((path) => !/\.(d\.ts|md)$/.test(path));
    const expected = source.map((path) => path.replace(/\.ts$/, '.js')).sort();
    expect(filesIn(join(installation.path, 'server'), '**/*.*')).toEqual(expected);
    expect(filesIn(join(installation.path, 'mock'), '**/*.*')).toEqual(['stateful.js']);
  });

  test('import only Node.js, the dependencies and each other', async () => {
    const modules = filesIn(installation.path, '{mock,server}/**/*.js');
    const { packages } = await importsIn(installation.path, modules);
    expect(packages).toEqual(Object.keys(manifest.dependencies).sort());
  });

  test('declare the exact production dependencies of the repository', async () => {
    const text = await readFile(join(installation.path, 'package.json'), 'utf8');
    const { dependencies, version, engines } = JSON.parse(text);
    expect({ dependencies, version, engines }).toEqual({
      dependencies: manifest.dependencies,
      version: manifest.version,
      engines: manifest.engines,
    });
    for (const each of Object.values(dependencies)) expect(each).toMatch(/^\d+\.\d+\.\d+$/);
  });

  test('pass publint', async () => {
    const { buffer } = new Uint8Array(await readFile(installation.tarball));
    const { messages } = await publint({ pack: { tarball: buffer }, level: 'suggestion' });
    expect(messages).toEqual([]);
  });
});
