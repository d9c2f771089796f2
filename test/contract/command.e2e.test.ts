import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { runCommand } from '../../verification/command.ts';
import { startApp } from '../support/app.ts';
import { startHttpServer } from '../support/http-server.ts';
import { freePort } from '../support/ports.ts';

/** Runs the command in this process. */
async function contractCheck(...args: string[]) {
  const output = vi.spyOn(console, 'log').mockReturnValue();
  const errors = vi.spyOn(console, 'error').mockReturnValue();
  const code = await runCommand({ name: 'space-service-contract' }, args);
  const textOf = ({ mock }: typeof output) => mock.calls.map(([line]) => `${line}\n`).join('');
  const result = { code, stdout: textOf(output), stderr: textOf(errors) };
  vi.restoreAllMocks();
  return result;
}

test('--help explains the options', async () => {
  const { code, stdout } = await contractCheck('--help');
  expect(code).toBe(0);
  for (const option of ['--email', '--password', '--only', '--junit', '--verbose', '--help']) {
    expect(stdout).toContain(option);
  }
  expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
});

/** Expects exit code 2 and one line on standard error. */
async function expectNotVerified(args: string[], line: string) {
  expect(await contractCheck(...args)).toEqual({ code: 2, stdout: '', stderr: `${line}\n` });
}

test('explains wrong arguments in one line', async () => {
  await expectNotVerified(
    [],
    'Pass the URL of one server. space-service-contract --help shows the usage.',
  );
  await expectNotVerified(
    ['localhost:3000'],
    '"localhost:3000" is not the URL of a server, such as http://127.0.0.1:3000.',
  );
  await expectNotVerified(
    ['http://127.0.0.1:3000', '--quiet'],
    "Unknown option '--quiet'. space-service-contract --help lists the options.",
  );
  await expectNotVerified(
    ['http://127.0.0.1:3000', '--email', 'ada@example.com'],
    '--email and --password require each other.',
  );
  await expectNotVerified(
    ['http://127.0.0.1:3000', '--only', 'changeBio,changeName'],
    'openapi.yaml has no operation "changeName". Pass operation ids such as searchSpaces,searchSpacesByTag.',
  );
});

test('explains an unreachable server in one line', async () => {
  const url = `http://127.0.0.1:${await freePort()}`;
  await expectNotVerified([url], `Cannot reach ${url}: connection refused.`);
});

test('explains in one line that a server closes the connection during a response', async () => {
  await using server = await startHttpServer((_request, response) => {
    response.writeHead(200, { 'content-length': 100 });
    response.write('{', () => response.destroy());
  });
  const { url } = server;
  await expectNotVerified([url], `Cannot reach ${url}: connection closed by the server.`);
});

test('writes JUnit XML without results if the server cannot be reached', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'space-service-contract-'));
  const junit = join(folder, 'results.xml');
  const url = `http://127.0.0.1:${await freePort()}`;
  const { code } = await contractCheck(url, '--junit', junit);
  const xml = await readFile(junit, 'utf8');
  await rm(folder, { recursive: true });
  expect({ code, xml }).toEqual({ code: 2, xml: '<testsuites/>\n' });
});

test('explains in one line that a port does not use HTTPS', async () => {
  await using server = await startHttpServer((_request, response) => response.end());
  const url = server.url.replace('http:', 'https:');
  await expectNotVerified([url], `Cannot reach ${url}: the port does not use HTTPS.`);
});

test('explains in one line that the URL must not include /api', async () => {
  await using app = await startApp();
  const url = `${app.url}/api`;
  await expectNotVerified(
    [url],
    `${url} does not serve this API: GET /api/api/profile/me returned 404 (application/problem+json). Check the URL, which does not include /api.`,
  );
});

test('explains in one line that a server is not the API', async () => {
  await using pages = await startHttpServer((_request, response) => {
    response.writeHead(404, { 'content-type': 'text/html' }).end('<h1>Not Found</h1>');
  });
  await expectNotVerified(
    [pages.url],
    `${pages.url} does not serve this API: GET /api/profile/me returned 404 (text/html). Check the URL, which does not include /api.`,
  );
  await using other = await startHttpServer((_request, response) => {
    response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"unknown"}');
  });
  await expectNotVerified(
    [other.url],
    `${other.url} does not serve this API: GET /api/profile/me returned 404 (application/json). Check the URL, which does not include /api.`,
  );
});

test('explains a redirect in one line', async () => {
  await using server = await startHttpServer((_request, response) => {
    response.writeHead(301, { location: 'https://spaces.example.org/api/profile/me' }).end();
  });
  await expectNotVerified(
    [server.url],
    `${server.url} redirects to https://spaces.example.org/api/profile/me. Pass the URL of that server.`,
  );
});
