import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { startApp } from '../support/app.ts';
import type { TestUser } from '../support/client.ts';
import { recordLog } from '../support/record-log.ts';
import { useApp } from '../support/use-app.ts';

interface RequestLine {
  msg: string;
  url: string;
  ip?: string;
  status: number;
}

const requestLines = (lines: RequestLine[]) => lines.filter(({ url }) => url !== undefined);

describe('The log', () => {
  const { log, lines } = recordLog<RequestLine>();
  const app = useApp({}, { log });

  test('truncates long URLs', async () => {
    await app.fetch(`/${'x'.repeat(10_000)}`);
    await expect.poll(() => requestLines(lines).length).toBe(1);
    expect(requestLines(lines)[0]?.url).toBe(`/${'x'.repeat(499)}`);
  });

  test('has the address of a client that resets its connection after the request', async () => {
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
});

// Allows a burst of ten reads. With a trusted proxy, each test can use its own client address.
const limited = useApp({ RATE_LIMITS: 'on', PUBLIC_RATE_LIMIT: '10', TRUST_PROXY: '127.0.0.1' });

let addresses = 0;
const newClient = () => ({ 'x-forwarded-for': `192.0.2.${++addresses}` });

describe('The limit of public reads', () => {
  /** Returns how many of the requests get 429. */
  const countRejected = async (headers: HeadersInit, path: string, requests: number) => {
    const responses = await Promise.all(
      Array.from({ length: requests }, () => limited.fetch(path, { headers })),
    );
    return responses.filter(({ status }) => status === 429).length;
  };

  test.each(['/unknown', '/docs/contract.json', '/openapi.yaml'])(
    'counts requests for %s',
    async (path) => {
      const headers = newClient();
      expect(await countRejected(headers, path, 12)).toBe(2);
      const response = await limited.fetch('/api/spaces/search?q=tea', { headers });
      expect(response.status).toBe(429);
    },
  );

  test('counts five avatars as one read, because pages show many', async () => {
    const headers = newClient();
    expect(await countRejected(headers, '/avatars/default.webp', 46)).toBe(0);
    expect(await countRejected(headers, '/api/spaces/search?q=tea', 2)).toBe(2);
  });

  test('does not count health checks', async () => {
    const headers = newClient();
    expect(await countRejected(headers, '/healthz', 30)).toBe(0);
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
    const [greedy, other] = [await limited.register(), await limited.register()];
    const read = async ({ headers }: TestUser) =>
      (await limited.fetch('/api/profile/me', { headers })).status;
    for (let i = 0; i < 10; i += 1) expect(await read(greedy)).toBe(200);
    expect(await read(greedy)).toBe(429);
    expect(await read(other)).toBe(200);
  });
});
