import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { startApp, type TestApp } from '../support/app.ts';
import type { TestUser } from '../support/client.ts';
import { recordLog } from '../support/record-log.ts';

interface RequestLine {
  msg: string;
  url: string;
  ip?: string;
  status: number;
}

const requestLines = (lines: RequestLine[]) => lines.filter(({ url }) => url !== undefined);

test('The log truncates long URLs', async () => {
  const { log, lines } = recordLog<RequestLine>();
  await using app = await startApp({}, { log });
  await app.fetch(`/${'x'.repeat(10_000)}`);
  await expect.poll(() => requestLines(lines).length).toBe(1);
  expect(requestLines(lines)[0]?.url).toBe(`/${'x'.repeat(499)}`);
});

test('The log has the address of a client that resets its connection after the request', async () => {
  const { log, lines } = recordLog<RequestLine>();
  await using app = await startApp({}, { log });
  const { hostname, port } = new URL(app.url);
  for (let i = 0; i < 20; i += 1) {
    const socket = connect(Number(port), hostname, () => {
      socket.write('GET /api/spaces/search?q=tea HTTP/1.1\r\nHost: a\r\n\r\n', () =>
        socket.resetAndDestroy(),
      );
    }).on('error', () => {});
    await new Promise((resolve) => socket.once('close', resolve));
  }
  // Requests that arrived before the reset are logged, others are not.
  await sleep(100);
  expect(requestLines(lines).filter(({ ip }) => ip !== '127.0.0.1')).toEqual([]);
});

describe('The limit of public reads', () => {
  /** Returns how many of the requests get 429. */
  const countRejected = async (app: TestApp, path: string, requests: number) => {
    const responses = await Promise.all(Array.from({ length: requests }, () => app.fetch(path)));
    return responses.filter(({ status }) => status === 429).length;
  };
  // Allows a burst of ten reads.
  const settings = { RATE_LIMITS: 'on', PUBLIC_RATE_LIMIT: '10' };

  test.each(['/unknown', '/docs/contract.json', '/openapi.yaml'])(
    'counts requests for %s',
    async (path) => {
      await using app = await startApp(settings);
      expect(await countRejected(app, path, 12)).toBe(2);
      expect((await app.fetch('/api/spaces/search?q=tea')).status).toBe(429);
    },
  );

  test('counts five avatars as one read, because pages show many', async () => {
    await using app = await startApp(settings);
    expect(await countRejected(app, '/avatars/default.webp', 46)).toBe(0);
    expect(await countRejected(app, '/api/spaces/search?q=tea', 2)).toBe(2);
  });

  test('does not count health checks', async () => {
    await using app = await startApp(settings);
    expect(await countRejected(app, '/healthz', 30)).toBe(0);
  });
});

test('A page that loads 30 resources at once is within the default limits', async () => {
  await using app = await startApp({ RATE_LIMITS: 'on' });
  const { headers } = await app.register();
  const paths = [
    ...Array.from({ length: 15 }, () => '/avatars/default.webp'),
    ...Array.from({ length: 10 }, (_, i) => `/api/spaces/search?q=tea${i}`),
    ...['me', 'data'].map((name) => `/api/profile/${name}`),
    ...['participations', 'auth/sessions', 'participations?limit=1'].map((path) => `/api/${path}`),
  ];
  const responses = await Promise.all(paths.map((path) => app.fetch(path, { headers })));
  expect(responses.map(({ status }) => status)).toEqual(paths.map(() => 200));
});

describe('Reads that require a token', () => {
  test('count by account, not by client', async () => {
    await using app = await startApp({ RATE_LIMITS: 'on', PUBLIC_RATE_LIMIT: '10' });
    const [greedy, other] = [await app.register(), await app.register()];
    const read = async ({ headers }: TestUser) =>
      (await app.fetch('/api/profile/me', { headers })).status;
    for (let i = 0; i < 10; i += 1) expect(await read(greedy)).toBe(200);
    expect(await read(greedy)).toBe(429);
    expect(await read(other)).toBe(200);
  });
});
