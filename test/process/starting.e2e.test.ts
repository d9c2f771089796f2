import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import { expect, onTestFailed, test } from 'vitest';
import { explainListenError, resolvePort } from '../../server/process/port.ts';
import { respondWhileStarting } from '../../server/process/startup-responder.ts';
import { startApp } from '../support/app.ts';
import { startProgram } from '../support/commands.ts';
import { freePort, occupyPort } from '../support/ports.ts';
import { preload } from '../support/processes.ts';
import { sendRaw } from '../support/raw.ts';
import { startServer } from '../support/server.ts';
import { createSpace } from '../support/spaces.ts';

const statusOf = (url: string) =>
  fetch(url, { headers: { connection: 'close' } }).then(
    ({ status }) => status,
    () => 0,
  );

test('responds to health checks while a migration blocks the main thread', async () => {
  const port = await freePort();
  const clientScript = `
    const deadline = Date.now() + 40_000;
    const get = (path) => fetch('http://127.0.0.1:${port}' + path).catch((error) => {
      if (Date.now() > deadline) throw error;
      return new Promise((resolve) => setTimeout(resolve, 50)).then(() => get(path));
    });
    for (const path of ['/healthz', '/readyz', '/api/spaces/search?q=tea']) {
      const response = await get(path);
      const { status, headers } = response;
      const [type, retry] = [headers.get('content-type'), headers.get('retry-after')];
      console.log(JSON.stringify({ status, type, retry, body: await response.json() }));
    }`;
  const config = { host: '127.0.0.1', port, corsOrigins: '*' } as const;
  const responses = await respondWhileStarting(config, async () =>
    // Blocks this thread, as a migration does.
    execFileSync(process.execPath, ['--input-type=module', '-e', clientScript], {
      encoding: 'utf8',
    })
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  );
  const problem = { status: 503, code: 'unavailable', request_id: expect.any(String), errors: [] };
  const unavailable = {
    status: 503,
    type: 'application/problem+json',
    retry: '2',
    body: expect.objectContaining(problem),
  };
  expect(responses).toEqual([
    { status: 200, type: 'application/json', retry: null, body: { status: 'ok' } },
    unavailable,
    unavailable,
  ]);
  // The port is free again for the service itself.
  expect(await resolvePort({ host: '127.0.0.1', port })).toBe(port);
});

test('responds to health checks once an earlier server has released the port', async () => {
  const earlier = await occupyPort();
  const config = { host: '127.0.0.1', port: earlier.port, corsOrigins: '*' } as const;
  await respondWhileStarting(config, async () => {
    await sleep(500);
    await earlier[Symbol.asyncDispose]();
    await expect.poll(() => statusOf(`http://127.0.0.1:${earlier.port}/healthz`)).toBe(200);
  });
});

test('responds to health checks while workers start', async () => {
  const port = await freePort();
  // Only in workers, and longer than they need on a busy machine.
  const slow = preload(
    `if (process.env.NODE_UNIQUE_ID) await new Promise((resolve) => setTimeout(resolve, 5_000));`,
  );
  const service = startProgram('start', [], { PORT: String(port), WORKERS: '2', ...slow });
  onTestFailed(() => console.log(service.output()));
  try {
    const url = `http://127.0.0.1:${port}`;
    await expect.poll(() => statusOf(`${url}/healthz`)).toBe(200);
    let answeredAt = performance.now();
    let longestSilenceMs = 0;
    while ((await statusOf(`${url}/readyz`)) !== 200) {
      const isAnswered = (await statusOf(`${url}/healthz`)) === 200;
      longestSilenceMs = Math.max(longestSilenceMs, performance.now() - answeredAt);
      if (isAnswered) answeredAt = performance.now();
      await sleep(20);
    }
    expect(longestSilenceMs).toBeLessThan(4_000);
  } finally {
    await service.kill();
  }
});

test('starts although the thread that responds to health checks fails', async () => {
  const config = { host: '127.0.0.1', port: 65_536, corsOrigins: '*' } as const;
  const [warning] = await respondWhileStarting(config, () => once(process, 'warning'));
  expect(warning).toMatchObject({ code: 'ERR_SOCKET_BAD_PORT' });
});

test.each<[string, '*' | string[], string | null]>([
  ['any origin', '*', '*'],
  ['an allowed origin', ['https://app.example'], 'https://app.example'],
  ['another origin', ['https://other.example'], null],
])('responds to browsers during the start: a page of %s', async (_, corsOrigins, allowed) => {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/api/profile/me`;
  const origin = 'https://app.example';
  await respondWhileStarting({ host: '127.0.0.1', port, corsOrigins }, async () => {
    await expect.poll(() => statusOf(url)).toBe(503);
    const response = await fetch(url, { headers: { origin } });
    expect(response.status).toBe(503);
    expect(response.headers.get('access-control-allow-origin')).toBe(allowed);
    expect(response.headers.get('access-control-expose-headers')).toContain('Retry-After');
    expect(response.headers.get('vary')).toBe(corsOrigins === '*' ? null : 'Origin');

    const preflight = await fetch(url, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'PUT',
        'access-control-request-headers': 'authorization',
      },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-origin')).toBe(allowed);
    expect(preflight.headers.get('access-control-allow-methods')).toContain('PUT');
    expect(preflight.headers.get('access-control-allow-headers')).toBe('authorization');
  });
});

test.each([1, 2])('becomes ready after the migration, with WORKERS=%i', async (workers) => {
  const folder = await mkdtemp(join(tmpdir(), 'starting-'));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  // Another process holds the write lock, so the migration has to wait.
  const other = new Sqlite(join(folder, 'space-service.sqlite'));
  other.pragma('journal_mode = WAL');
  other.exec('BEGIN IMMEDIATE');
  const env = {
    DATA_DIR: folder,
    PORT: String(port),
    WORKERS: String(workers),
  };
  const service = startProgram('start', [], env);
  onTestFailed(() => console.log(service.output()));
  try {
    await expect.poll(() => statusOf(`${url}/healthz`)).toBe(200);
    expect(await statusOf(`${url}/readyz`)).toBe(503);
    other.exec('COMMIT');
    await expect.poll(() => statusOf(`${url}/readyz`)).toBe(200);
    expect(await statusOf(`${url}/api/spaces/search?q=tea`)).toBe(200);
  } finally {
    other.close();
    await service.kill();
    await rm(folder, { recursive: true });
  }
});

test.each([1, 2])(
  'rebuilds an outdated search index and its dictionary, with WORKERS=%i',
  async (workers) => {
    const folder = await mkdtemp(join(tmpdir(), 'starting-'));
    {
      await using app = await startApp({ DATA_DIR: folder });
      await createSpace(await app.register(), { title: 'Sourdough' });
    }
    const sqlite = new Sqlite(join(folder, 'space-service.sqlite'));
    // The value of `trie` is an empty dictionary, as in a new database.
    sqlite.exec(`
      INSERT INTO word_index (word_index) VALUES ('delete-all');
      UPDATE search_index SET version = 0;
      UPDATE dictionary SET built_revision = 0, trie = X'0100000000000000000000000000'`);
    sqlite.close();

    const port = await freePort();
    const env = { DATA_DIR: folder, PORT: String(port), WORKERS: String(workers) };
    const service = startProgram('start', [], env);
    const searchUrl = `http://127.0.0.1:${port}/api/spaces/search?q=sourdouhg`;
    const answeredQuery = () =>
      fetch(searchUrl).then(
        ({ headers }) => headers.get('answered-query'),
        () => 'no response',
      );
    try {
      await expect.poll(answeredQuery).toBe('sourdough');
      expect(service.stdout()).toContain('rebuilding the search index');
    } finally {
      await service.kill();
      await rm(folder, { recursive: true });
    }
  },
);

test('explains a port that needs a privileged user', () => {
  const error = Object.assign(new Error('listen EACCES'), { code: 'EACCES' });
  expect(explainListenError(error, { host: '127.0.0.1', port: 80 })).toMatchObject({
    message: expect.stringMatching(/^This user may not listen on PORT=80\. Set PORT to 1024 or/),
  });
});

/** Makes a process resolve `localhost` to both loopback addresses, as most machines do. */
const WITH_TWO_LOOPBACK_ADDRESSES = preload(`
  import dns from 'node:dns';
  import { syncBuiltinESMExports } from 'node:module';
  const addresses = [{ address: '127.0.0.1', family: 4 }, { address: '::1', family: 6 }];
  const { lookup } = dns;
  dns.lookup = (host, options, done) =>
    host === 'localhost' && options.all ? done(null, addresses) : lookup(host, options, done);
  const lookupAsync = dns.promises.lookup;
  dns.promises.lookup = async (host, ...options) =>
    host === 'localhost' ? addresses[0] : lookupAsync(host, ...options);
  syncBuiltinESMExports();`);

test.each(['1', '2'])(
  'listens on one address with HOST=localhost, with WORKERS=%s',
  async (WORKERS) => {
    const settings = { HOST: 'localhost', WORKERS, ...WITH_TWO_LOOPBACK_ADDRESSES };
    await using server = await startServer(settings);
    const isOpen = async (host: string) => {
      const socket = connect(server.port, host);
      const connected = once(socket, 'connect').then(
        () => true,
        () => false,
      );
      return await connected.finally(() => socket.destroy());
    };
    expect([await isOpen('127.0.0.1'), await isOpen('::1')]).toEqual([true, false]);
    const response = await sendRaw(server.url, 'nonsense\r\n\r\n');
    expect(response?.headers.get('content-type')).toBe('application/problem+json');
  },
);

test('serves requests and stops while its log cannot be written, as on a full disk', async () => {
  const toFullDisk = ['sh', '-c', 'exec "$@" > /dev/full', 'sh'];
  await using server = await startServer({ LOG_LEVEL: 'info' }, toFullDisk);
  expect(await statusOf(`${server.url}/api/spaces/search?q=tea`)).toBe(200);
  expect(await server.stop()).toBe(0);
});
