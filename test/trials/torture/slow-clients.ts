import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { preload } from '../../support/processes.ts';
import { head, openRaw, type RawResponse, sendRaw } from '../../support/raw.ts';
import { startServer } from '../../support/server.ts';
import { quantile } from '../../support/statistics.ts';
import {
  type AccountRequests,
  duration,
  isUnavailable,
  keepSending,
  prepareAccount,
  type TimedOutcome,
} from './load.ts';
import type { Trial } from './trial.ts';

/** The service's time limits for receiving headers and whole requests. */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;

/** At the quick scale, the service divides its limits by this, so that the trial waits less. */
const QUICK_DIVISOR = 5;

/** Tolerance, because the service checks connections once per second. */
const TOLERANCE_MS = 3_000;

export const slowClients: Trial = {
  promise:
    'Slow connections get 408 in time and do not delay others; ambiguous or oversized requests are rejected.',
  runsOnPostgresql: true,
  measuresTime: true,
  async run(scale) {
    const [count, divisor, calmMs] =
      scale === 'full' ? [500, 1, 5_000] : [40, QUICK_DIVISOR, 4_000];
    const [headersTimeoutMs, requestTimeoutMs] = [HEADERS_TIMEOUT_MS, REQUEST_TIMEOUT_MS].map(
      (limit) => limit / divisor,
    ) as [number, number];
    await using server = await startServer(preload(divideTimeouts(divisor)));
    const requests = await prepareAccount(server.url);
    // The first requests warm up the process and are not compared.
    await measure(server.url, requests, 3_000);

    const calmBefore = await measure(server.url, requests, calmMs);
    const slowConnections = Promise.all(
      Array.from({ length: count }, (_, i) =>
        i % 2 === 0
          ? sendSlowly(server.url, head('GET', '/healthz').slice(0, -2), 'X-Slow: 1\r\n')
          : sendSlowly(server.url, slowBody(requests.token), 'x'),
      ),
    );
    const [busy, rejected] = await Promise.all([
      measure(server.url, requests, requestTimeoutMs),
      sendInvalidRequests(server.url, requests, scale === 'full' ? 100 : 10),
    ]);
    const closed = await slowConnections;
    const calmAfter = await measure(server.url, requests, calmMs);

    const longest = (closures: { milliseconds: number }[]) =>
      Math.max(...closures.map(({ milliseconds }) => milliseconds));
    for (const { response } of closed) {
      assert(response, 'a slow connection was closed without a response');
      assertProblem(response, 408, 'request_timeout');
    }
    const headers = longest(closed.filter((_, i) => i % 2 === 0));
    const bodies = longest(closed.filter((_, i) => i % 2 === 1));
    assert(headers <= headersTimeoutMs + TOLERANCE_MS, `slow headers lasted ${headers} ms`);
    assert(bodies <= requestTimeoutMs + TOLERANCE_MS, `slow bodies lasted ${bodies} ms`);

    const others = [...calmBefore, ...busy, ...calmAfter];
    assert.deepEqual([...new Set(others.map(({ status }) => status))], [200]);
    const calm = typicalP99([...calmBefore, ...calmAfter]);
    const p99 = typicalP99(busy);
    assert(
      p99 < 2 * calm,
      `p99 of other clients rose from ${calm.toFixed(1)} to ${p99.toFixed(1)} ms`,
    );
    return `${count} slow connections got 408, slow headers within ${seconds(headers)} and slow bodies within ${seconds(bodies)}; p99 of other clients ${calm.toFixed(1)} ms without them and ${p99.toFixed(1)} ms with them, ${others.length} requests, none failed; ${rejected} ambiguous or oversized requests rejected, pipelined requests answered in order`;
  },
};

/** Returns a script that divides the limits of the service. */
function divideTimeouts(divisor: number): string {
  return `
    import { TIME_LIMITS } from '${new URL('../../../server/http/time-limits.ts', import.meta.url)}';
    TIME_LIMITS.headersTimeoutMs /= ${divisor};
    TIME_LIMITS.requestTimeoutMs /= ${divisor};`;
}

/** Runs four clients that send one read after another. */
async function measure(
  url: string,
  requests: AccountRequests,
  milliseconds: number,
): Promise<TimedOutcome[]> {
  const clients = [requests.search, requests.profile, requests.search, requests.profile].map(
    (next) => keepSending(url, next),
  );
  await sleep(milliseconds);
  const outcomes = (await Promise.all(clients.map((client) => client.stop()))).flat();
  // Other programs on the machine may make the service shed load.
  return outcomes.filter((outcome) => !isUnavailable(outcome));
}

/** Returns the median of the p99 of each second. It ignores seconds during which another program was busy. */
function typicalP99(outcomes: readonly TimedOutcome[]): number {
  const seconds = Map.groupBy(outcomes, ({ startedAt }) => Math.floor(startedAt / 1000));
  const p99s = [...seconds.values()].map((outcomes) => quantile(outcomes.map(duration), 0.99));
  return quantile(p99s, 0.5);
}

/** Sends `beginning`, then `more` every second, until the connection closes. */
async function sendSlowly(url: string, beginning: string, more: string) {
  await sleep(Math.random() * 1000);
  const start = performance.now();
  using connection = await openRaw(url);
  await connection.write(beginning);
  const timer = setInterval(() => void connection.write(more), 1000);
  const deadline = setTimeout(() => connection.socket.destroy(), 60_000);
  const response = await connection.readResponse();
  await connection.closed;
  clearInterval(timer);
  clearTimeout(deadline);
  return { response, milliseconds: performance.now() - start };
}

function slowBody(token: string): string {
  return head('PUT', '/api/profile/bio', {
    Authorization: `Bearer ${token}`,
    'Content-Type': 'application/json',
    'Content-Length': 1000,
  });
}

/** Sends ambiguous and oversized requests, and pipelined ones in between. Returns the number of rejected requests. */
async function sendInvalidRequests(
  url: string,
  requests: AccountRequests,
  times: number,
): Promise<number> {
  const json = { 'Content-Type': 'application/json' };
  const invalidRequests: [status: number, code: string, bytes: string][] = [
    [431, 'headers_too_large', head('GET', '/healthz', { 'X-Long': 'x'.repeat(17_000) })],
    [
      400,
      'invalid_request',
      `${head('POST', '/api/auth/login', { ...json, 'Content-Length': 5, 'Transfer-Encoding': 'chunked' })}0\r\n\r\n`,
    ],
    [
      400,
      'invalid_request',
      `POST /api/auth/login HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{} `,
    ],
    [
      400,
      'invalid_request',
      `${head('POST', '/api/auth/login', { ...json, 'Transfer-Encoding': 'gzip, chunked' })}0\r\n\r\n`,
    ],
    [400, 'invalid_request', 'GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n'],
  ];
  for (let i = 0; i < times; i += 1) {
    for (const [status, code, bytes] of invalidRequests) {
      const response = await sendRaw(url, bytes);
      assert(response, `no response to ${bytes.slice(0, 200)}`);
      assertProblem(response, status, code);
    }
    await sendPipelined(url, requests);
  }
  return times * invalidRequests.length;
}

/** Pipelines slow and quick requests. Asserts that the responses arrive in the order of the requests. */
async function sendPipelined(url: string, { token, login }: AccountRequests): Promise<void> {
  const { body = Buffer.of(), path, headers } = login();
  const slow = head('POST', path, headers) + body;
  const profile = head('GET', '/api/profile/me', { Authorization: `Bearer ${token}` });
  const quick = [head('GET', '/healthz'), profile, head('GET', '/nowhere')];
  using connection = await openRaw(url);
  await connection.write([slow, ...quick, slow, ...quick].join(''));
  const expected = ['"access_token"', '"status":"ok"', '"username":"ada"', '"not_found"'];
  for (const part of [...expected, ...expected]) {
    const response = await connection.readResponse();
    assert(response?.body.includes(part), `expected ${part}, got ${response?.body}`);
  }
}

function assertProblem(
  { status, headers, body }: RawResponse,
  expected: number,
  code: string,
): void {
  assert.equal(status, expected, body);
  assert.equal(headers.get('content-type'), 'application/problem+json');
  assert.deepEqual({ ...JSON.parse(body), status, code }, JSON.parse(body));
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}
