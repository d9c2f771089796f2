import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { mkdtemp, readFile, realpath, rename, rm, stat, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { publint } from 'publint';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import lock from '../../package-lock.json' with { type: 'json' };
import { startApp } from '../support/app.ts';
import { freePort } from '../support/ports.ts';
import { preload, whileRunning } from '../support/processes.ts';
import { type Installation, installPackage } from './installation.ts';
import { importsIn, isParsedByOldNode, staticModulesOf } from './modules.ts';

const run = promisify(execFile);

const locked: Record<string, { name?: string; version?: string; link?: boolean }> = lock.packages;

/** Returns the name of a package in `package-lock.json`, which has another path if an override replaces it. */
const nameAt = (path: string) => locked[path]?.name ?? path.split('node_modules/').at(-1);

let folder: string;
let installation: Installation;

beforeAll(async () => {
  // The system's temporary folder can be a symbolic link.
  folder = await realpath(await mkdtemp(join(tmpdir(), 'space-tools-')));
  installation = await installPackage('space-service-tools', [], folder);
});
afterAll(() => rm(folder, { recursive: true }));

/** Starts the installed mock server and waits until it is ready. */
async function startMock(...args: string[]) {
  const port = String(await freePort());
  const mock = installation.start('space-service-mock', ['--port', port, ...args]);
  await whileRunning(mock, expect.poll(mock.output).toContain('The mock server listens at'));
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: mock.kill,
  };
}

describe('space-service-mock', () => {
  test('returns search results, selected errors, 400 for invalid bodies, and avatars', async () => {
    await using mock = await startMock('--host', '127.0.0.1');
    const found = await fetch(`${mock.url}/api/spaces/search?q=bread`);
    expect(found.status).toBe(200);
    expect(await found.json()).toContainEqual(expect.objectContaining({ visibility: 'public' }));

    const register = async (body: string, headers = {}) => {
      const response = await fetch(`${mock.url}/api/auth/register`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body,
      });
      const { code } = await response.json();
      return { status: response.status, code };
    };
    expect(await register('{}', { prefer: 'code=409, example=email_taken' })).toEqual({
      status: 409,
      code: 'email_taken',
    });
    expect(await register('{"username":')).toEqual({ status: 400, code: 'invalid_request' });
    expect((await fetch(`${mock.url}/avatars/ada.webp`)).status).toBe(200);
  });

  test('has help', async () => {
    const { code, stdout, stderr } = await installation.run('space-service-mock', ['--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^Usage: space-service-mock \[--stateful\] /);
    expect(stdout).not.toContain('npm run');
  });
});

describe.each([
  { name: 'space-service-mock', entry: 'mock/serve.js', check: 'mock/node-version.js' },
  {
    name: 'space-service-contract',
    entry: 'verification/main.js',
    check: 'verification/node-version.js',
  },
])('The program of $name', ({ entry, check }) => {
  test('checks the version of Node.js before an older one has to parse other modules', async () => {
    expect(await staticModulesOf(installation.path, entry)).toEqual([entry, check]);
    for (const each of [entry, check]) {
      expect(await isParsedByOldNode(join(installation.path, each)), each).toBe(true);
    }
  });
});

describe('space-service-contract', () => {
  const verify = (...args: string[]) => installation.run('space-service-contract', args);

  test('passes for a server that implements the contract', async () => {
    await using app = await startApp();
    const { code, stdout, stderr } = await verify(app.url, '--junit', 'contract.xml');
    expect(stdout).toMatch(/\n\d{3} passed, 0 failed\n$/);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const xml = await readFile(join(installation.project, 'contract.xml'), 'utf8');
    expect(xml).toContain('<testcase classname="getUser" name="getUser 404" />');
  });

  test('has help', async () => {
    const { code, stdout, stderr } = await verify('--help');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^Usage: space-service-contract <url> /);
  });
});

test.each([
  ['space-service-mock', 1],
  ['space-service-contract', 2],
])('%s explains that it needs a newer Node.js', async (command, code) => {
  const oldVersion = "Object.defineProperty(process.versions,'node',{value:'22.13.0'})";
  const result = await installation.run(command, ['--help'], preload(oldVersion));
  expect(result).toMatchObject({ code, stdout: '' });
  expect(result.stderr).toMatch(/ needs Node\.js 24 or newer, and this is v22\.13\.0\.[^\n]*\n$/);
});

describe('the contents of the package', () => {
  test('are the modules that the programs import, and the files that they read', async () => {
    const { modules, packages } = await importsIn(installation.path, [
      'mock/serve.js',
      'verification/main.js',
    ]);
    const files = globSync('**/*.*', { cwd: installation.path, exclude: ['node_modules'] });
    // Those of the scenarios are imports. The others are for implementers.
    const vectors = globSync('verification/vectors/*.json', { cwd: installation.path });
    const listedVectors = vectors.filter((file) => !modules.includes(file));
    expect(files.sort()).toEqual(
      [
        ...modules,
        ...listedVectors,
        'CHANGELOG.md',
        'LICENSES-OF-DEPENDENCIES.txt',
        'README.md',
        'generated/openapi.json',
        'lists/reserved-usernames.json',
        'lists/stop-words.json',
        'openapi.yaml',
        'package.json',
        'server/accounts/common-passwords.LICENSE.txt',
        'server/accounts/common-passwords.txt',
        'server/avatars/default.webp',
        'server/text/confusables.LICENSE.txt',
        'server/text/confusables.txt',
        'verification/hooks.cjs',
      ].sort(),
    );
    expect(packages).toEqual(['#stateful-mock']);
  });

  test('include the dependencies with their licenses, without a database and native modules', async () => {
    const text = await readFile(join(installation.path, 'LICENSES-OF-DEPENDENCIES.txt'), 'utf8');
    const bundled = [...text.matchAll(/^(@?[\w./-]+) (\d+\.\S+): .+$/gm)];
    const names = new Set(bundled.map(([, name]) => name));
    expect(names.size).toBeGreaterThan(150);
    const shared = Object.keys(manifest.dependencies).filter((name) => names.has(name));
    expect(shared).toEqual(['ajv', 'negotiator', 'pino']);
    const versions = new Set(
      Object.entries(locked).map(([path, each]) => `${nameAt(path)} ${each?.version}`),
    );
    for (const [, name, version] of bundled) expect(versions).toContain(`${name} ${version}`);
    expect(globSync('**/*.node', { cwd: installation.path })).toEqual([]);
  });

  test('are small', async () => {
    const files = globSync('**/*', { cwd: installation.path });
    expect(files.length).toBeLessThan(200);
    const sizes = await Promise.all(
      files.map(async (file) => (await stat(join(installation.path, file))).size),
    );
    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(10_000_000);
  });

  test('pass publint', async () => {
    const { buffer } = new Uint8Array(await readFile(installation.tarball));
    const { messages } = await publint({ pack: { tarball: buffer }, level: 'suggestion' });
    expect(messages).toEqual([]);
  });
});

// Last, because it adds the server to the project.
describe('space-service-mock --stateful', () => {
  test('explains in one line that it requires the server', async () => {
    expect(await installation.run('space-service-mock', ['--stateful', '--port', '0'])).toEqual({
      code: 1,
      stdout: '',
      stderr:
        '--stateful runs the server. Install the package space-service-server of the same version beside space-service-tools, or omit --stateful.\n',
    });
  });

  test('runs the server that is installed beside it', async () => {
    const built = join(folder, 'server');
    const name = 'space-service-server';
    await run(process.execPath, ['codegen/build-packages.ts', built, name]);
    const path = join(installation.project, 'node_modules', name);
    await rename(join(built, name), path);
    // Its dependencies. The tests of its package install it with copies of them.
    await symlink(resolve('node_modules'), join(path, 'node_modules'));
    await using mock = await startMock('--stateful');
    const found = await fetch(`${mock.url}/api/spaces/search?q=bread`);
    expect(await found.json()).toContainEqual(expect.objectContaining({ title: 'Bread' }));
    const reset = await fetch(`${mock.url}/__reset`, { method: 'POST' });
    expect(reset.status).toBe(204);
  });
});
