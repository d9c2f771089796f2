import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { head, openRaw, type RawResponse, sendRaw } from '../support/raw.ts';
import { startServer } from '../support/server.ts';
import { duration, keepSending, type Outcome, type Person, quantile, settle } from './load.ts';
import type { Trial } from './trial.ts';

/** How long headers may take to arrive, and whole requests, in milliseconds. */
const HEADERS = 10_000;
const REQUEST = 30_000;

/** How much later a slow connection may be closed: it is looked at once a second. */
const SLACK = 3_000;

export const slowClients: Trial = {
  promise:
    'Connections that dawdle get 408 in time and slow nobody down; ambiguous or oversized requests are refused.',
  async run(scale) {
    const count = scale === 'full' ? 500 : 40;
    await using server = await startServer();
    const person = await settle(server.url);
    // The first requests are slow for reasons of their own.
    await measure(server.url, person, 3_000);

    const calmBefore = await measure(server.url, person, 5_000);
    const dawdling = Promise.all(
      Array.from({ length: count }, (_, i) =>
        i % 2 === 0
          ? dawdle(server.url, head('GET', '/healthz').slice(0, -2), 'X-Slow: 1\r\n')
          : dawdle(server.url, slowBody(person.token), 'x'),
      ),
    );
    const [busy, refused] = await Promise.all([
      measure(server.url, person, REQUEST),
      refuseNonsense(server.url, person, scale === 'full' ? 100 : 10),
    ]);
    const closed = await dawdling;
    const calmAfter = await measure(server.url, person, 5_000);

    const late = (each: { milliseconds: number }[]) =>
      Math.max(...each.map(({ milliseconds }) => milliseconds));
    for (const { answer } of closed) {
      assert(answer, 'a slow connection was closed without an answer');
      assertProblem(answer, 408, 'request_timeout');
    }
    const headers = late(closed.filter((_, i) => i % 2 === 0));
    const bodies = late(closed.filter((_, i) => i % 2 === 1));
    assert(headers <= HEADERS + SLACK, `slow headers lasted ${headers} ms`);
    assert(bodies <= REQUEST + SLACK, `slow bodies lasted ${bodies} ms`);

    const others = [...calmBefore, ...busy, ...calmAfter];
    assert.deepEqual([...new Set(others.map(({ status }) => status))], [200]);
    const calm = typicalP99([...calmBefore, ...calmAfter]);
    const p99 = typicalP99(busy);
    assert(p99 < 2 * calm, `others' p99 rose from ${calm.toFixed(1)} to ${p99.toFixed(1)} ms`);
    return `${count} slow connections got 408, headers after ${seconds(headers)} and bodies after ${seconds(bodies)} at the latest; others' p99 ${calm.toFixed(1)} ms without them and ${p99.toFixed(1)} ms with them, ${others.length} requests, none failed; ${refused} ambiguous or oversized requests refused, pipelined ones answered in order`;
  },
};

/** Has four clients read, one request after the other. */
async function measure(url: string, person: Person, milliseconds: number): Promise<Outcome[]> {
  const clients = [person.search, person.profile, person.search, person.profile].map((next) =>
    keepSending(url, next),
  );
  await sleep(milliseconds);
  return (await Promise.all(clients.map((client) => client.stop()))).flat();
}

/** The median of each second's p99: what is true of most of the time, not of the one second another program took. */
function typicalP99(outcomes: readonly Outcome[]): number {
  const seconds = Map.groupBy(outcomes, ({ begun }) => Math.floor(begun / 1000));
  const each = [...seconds.values()].map((those) => quantile(those.map(duration), 0.99));
  return quantile(each, 0.5);
}

/** Sends a beginning, then a little more every second, until the connection ends. */
async function dawdle(url: string, beginning: string, more: string) {
  await sleep(Math.random() * 1000);
  const begun = performance.now();
  using connection = await openRaw(url);
  await connection.write(beginning);
  const timer = setInterval(() => void connection.write(more), 1000);
  const patience = setTimeout(() => connection.socket.destroy(), 60_000);
  const answer = await connection.readResponse();
  await connection.ended;
  clearInterval(timer);
  clearTimeout(patience);
  return { answer, milliseconds: performance.now() - begun };
}

function slowBody(token: string): string {
  return head('PUT', '/api/profile/bio', {
    ...{ Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    'Content-Length': 1000,
  });
}

/** Sends what is refused, again and again, and pipelines in between. Answers with how many were refused. */
async function refuseNonsense(url: string, person: Person, times: number): Promise<number> {
  const json = { 'Content-Type': 'application/json' };
  const nonsense: [number, string, string][] = [
    [431, 'headers_too_large', head('GET', '/healthz', { 'X-Long': 'x'.repeat(17_000) })],
    [
      ...([400, 'invalid_request'] as const),
      `${head('POST', '/api/auth/login', { ...json, 'Content-Length': 5, 'Transfer-Encoding': 'chunked' })}0\r\n\r\n`,
    ],
    [
      ...([400, 'invalid_request'] as const),
      `POST /api/auth/login HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{} `,
    ],
    [
      ...([400, 'invalid_request'] as const),
      `${head('POST', '/api/auth/login', { ...json, 'Transfer-Encoding': 'gzip, chunked' })}0\r\n\r\n`,
    ],
    [400, 'invalid_request', 'GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n'],
  ];
  for (let i = 0; i < times; i += 1) {
    for (const [status, code, bytes] of nonsense) {
      const answer = await sendRaw(url, bytes);
      assert(answer, `no answer to ${bytes.slice(0, 200)}`);
      assertProblem(answer, status, code);
    }
    await pipeline(url, person);
  }
  return times * nonsense.length;
}

/** The slow and the quick in one go. Each answer has to be that of the request in its place. */
async function pipeline(url: string, { token, login }: Person): Promise<void> {
  const { body = Buffer.of(), path, headers } = login();
  const signIn = head('POST', path, headers) + body;
  const profile = head('GET', '/api/profile/me', { Authorization: `Bearer ${token}` });
  const quick = [head('GET', '/healthz'), profile, head('GET', '/nowhere')];
  using connection = await openRaw(url);
  await connection.write([signIn, ...quick, signIn, ...quick].join(''));
  const expected = ['"access_token"', '"status":"ok"', '"username":"ada"', '"not_found"'];
  for (const part of [...expected, ...expected]) {
    const answer = await connection.readResponse();
    assert(answer?.body.includes(part), `${part} was answered out of order: ${answer?.body}`);
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
