import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type RawBuilder, sql } from 'kysely';
import * as api from '../../../generated/sdk.gen.ts';
import { type Operation, operations } from '../../../server/contract.ts';
import type { Database } from '../../../server/database/engine.ts';
import { openDatabase } from '../../../server/database/open.ts';
import { transact } from '../../../server/database/transaction.ts';
import { register, retryingClientOf, type TestUser } from '../../support/client.ts';
import { isPostgresql } from '../../support/databases.ts';
import { head, sendRaw } from '../../support/raw.ts';
import { exampleRequest } from '../../support/requests.ts';
import { retryWhileUnavailable } from '../../support/retry.ts';
import { type Server, startServer } from '../../support/server.ts';
import { createSpace, sendMessage } from '../../support/spaces.ts';
import { formatCounts } from './people.ts';
import type { Trial } from './trial.ts';

/** More concurrent logins than the service queues. */
const OVERLOAD_LOGINS = 240;

/** Matches SQL statements: keywords before a quoted name, or placeholders. */
const SQL =
  /\b(select|insert into|update|delete from|from|where|join|returning)\b[^a-z]{0,3}"|\bvalues \((\?|\$\d)|= (\?|\$\d)/i;

/** Headers that reveal the software of the server. */
const REVEALING_HEADERS = ['x-powered-by', 'server', 'via', 'x-runtime', 'x-fastify-version'];

/** Records sent secrets and received responses. */
interface Recorder {
  secrets: Map<string, string>;
  /** Returns a new secret and records it. */
  secret(kind: string): string;
  /**
   * Sends a request and records error bodies and headers. Returns the status.
   * @param isPrivate whether the response must be `no-store`; by default, if the request has a token
   */
  send(path: string, init: RequestInit, isPrivate?: boolean): Promise<number>;
  /** The bodies of error responses and the headers of all responses. */
  visibleTexts: string[];
  statuses: Map<number, number>;
}

export const secrets: Trial = {
  promise: 'Logs, errors and metrics contain no password, token, body or SQL.',
  runsOnPostgresql: true,
  async run(scale) {
    const passes = scale === 'full' ? 10 : 1;
    const metricsToken = randomBytes(16).toString('hex');
    await using server = await startServer({ LOG_LEVEL: 'trace', METRICS_TOKEN: metricsToken });
    const recorder = openRecorder(server.url);
    recorder.secrets.set('the token of /metrics', metricsToken);

    for (let pass = 0; pass < passes; pass += 1) {
      const token = await useAccount(server.url, recorder, pass);
      for (const operation of operations) await provoke(recorder, operation, token);
      await provokeOutsideOperations(server.url, recorder, token);
      await provokeFailures(server, recorder, pass);
    }
    await provokeOverload(recorder);

    const metrics = await fetch(`${server.url}/metrics`, {
      headers: { authorization: `Bearer ${metricsToken}` },
    });
    const metricsText = await metrics.text();
    assert.equal(metrics.status, 200);
    assert.match(
      metricsText,
      /space_service_http_request_duration_seconds_count\{[^}]*status="500"/,
    );
    const closed = once(server.child, 'close');
    await server.stop();
    await closed;
    const log = server.output();
    assert.match(log, /"level":50/, 'no errors were logged');

    const places = {
      'the log': log,
      'an error or header': recorder.visibleTexts.join('\n'),
      '/metrics': metricsText,
    };
    for (const [place, text] of Object.entries(places)) {
      for (const [kind, secret] of recorder.secrets) {
        const at = text.indexOf(secret);
        assert(
          at < 0,
          `${place} contains ${kind}: …${text.slice(Math.max(0, at - 300), at + 100)}`,
        );
      }
      const sql = SQL.exec(text);
      assert(!sql, `${place} contains SQL: …${text.slice((sql?.index ?? 0) - 300).slice(0, 400)}`);
    }
    for (const status of [400, 401, 403, 404, 405, 409, 413, 415, 422, 500, 503]) {
      assert(recorder.statuses.has(status), `no response had status ${status}`);
    }
    const summary = formatCounts([...recorder.statuses].sort(([a], [b]) => a - b));
    const lines = log.split('\n').length - 1;
    return `${recorder.secrets.size} secrets sent, responses ${summary}: none in ${lines} lines of the log at level trace, in ${recorder.visibleTexts.length} errors and headers or in /metrics; private responses are no-store, no header reveals the software`;
  },
};

function openRecorder(url: string): Recorder {
  const secrets = new Map<string, string>();
  const visibleTexts: string[] = [];
  const statuses = new Map<number, number>();
  const sendOnce = async (path: string, init: RequestInit, isPrivate: boolean) => {
    const response = await fetch(url + path, init);
    const { status, headers } = response;
    const text = await response.text();
    const context = `${init.method ?? 'GET'} ${path} returned ${status}`;
    if (status >= 400) visibleTexts.push(text);
    visibleTexts.push([...headers].map((header) => header.join(': ')).join('\n'));
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    for (const name of REVEALING_HEADERS) assert(!headers.has(name), `${context}: ${name}`);
    if (status >= 400 || isPrivate) assert.equal(headers.get('cache-control'), 'no-store', context);
    return response;
  };
  return {
    secrets,
    visibleTexts,
    statuses,
    secret(kind) {
      const secret = `zq${randomBytes(9).toString('hex')}`;
      secrets.set(`${kind} ${secrets.size}`, secret);
      return secret;
    },
    async send(path, init, isPrivate = new Headers(init.headers).has('authorization')) {
      return (await retryWhileUnavailable(() => sendOnce(path, init, isPrivate))).status;
    },
  };
}

/** Uses an account with secrets in every private text. Returns a token. */
async function useAccount(url: string, recorder: Recorder, pass: number): Promise<string> {
  const { secrets, secret, send } = recorder;
  const name = `person-${secret('a username')}`;
  const person = await register(url, name, secret('a password'));
  secrets.set(`a token ${secrets.size}`, person.token);
  secrets.set(`an email address ${pass}`, person.email);
  const token = await usePasswords(url, recorder, name, person);
  const client = retryingClientOf(url, token);

  const texts = { title: secret('a title'), description: secret('a description') };
  const space = await createSpace({ client }, { ...texts, visibility: 'private' });
  secrets.set(`an invitation code ${pass}`, String(space.invitation_code));
  const { space_id } = space;
  const { message_id } = await sendMessage({ client }, space, secret('a message'));
  const ids = { space_id, message_id, user_id: person.userId };
  const headers = { authorization: `Bearer ${token}` };
  const jsonHeaders = { ...headers, 'content-type': 'application/json' };
  const requests: [string, string, object, number][] = [
    ['PUT', '/api/profile/bio', { bio: secret('a bio') }, 200],
    ['POST', '/api/messages', { space_id, text: secret('a message') }, 201],
  ];
  for (const [method, path, body, status] of requests) {
    const init = { method, headers: jsonHeaders, body: JSON.stringify(body) };
    assert.equal(await send(path, init), status);
  }
  for (const operation of operations) {
    if (operation.method !== 'GET' || operation.authentication === 'none') continue;
    assert.equal(await send(exampleRequest(operation, ids).url, { headers }), 200);
  }
  return token;
}

/** Sends right and wrong passwords. Returns the token of a login, the only one that is still valid. */
async function usePasswords(
  url: string,
  { secrets, secret, send }: Recorder,
  username: string,
  { email, password, token: firstToken }: TestUser,
): Promise<string> {
  const login = await api.login({
    client: retryingClientOf(url),
    body: { email, password },
    throwOnError: true,
  });
  assert.equal(login.response.headers.get('cache-control'), 'no-store');
  const token = login.data.access_token;
  secrets.set(`a token ${secrets.size}`, token);
  const newPassword = secret('a new password');
  const correct = { currentPassword: password, newPassword };
  const wrong = { currentPassword: secret('a wrong password'), newPassword: secret('a password') };
  const weak = { currentPassword: newPassword, newPassword: email };
  const taken = { username, email, password: secret('a password') };
  const requests: [string, string, object, string, number][] = [
    ['PUT', '/api/profile/password', wrong, token, 403],
    ['PUT', '/api/profile/password', correct, token, 200],
    ['PUT', '/api/profile/password', correct, firstToken, 401],
    ['PUT', '/api/profile/password', weak, token, 400],
    ['POST', '/api/auth/register', taken, firstToken, 409],
    ['POST', '/api/auth/register', { ...taken, username: 'free' }, firstToken, 409],
    ['POST', '/api/auth/login', { email, password: secret('wrong') }, firstToken, 401],
  ];
  for (const [method, path, body, authorization, status] of requests) {
    const headers = {
      authorization: `Bearer ${authorization}`,
      'content-type': 'application/json',
    };
    assert.equal(await send(path, { method, headers, body: JSON.stringify(body) }), status, path);
  }
  return token;
}

/** Sends requests with secrets to an operation. It must reject most of them. */
async function provoke(recorder: Recorder, operation: Operation, token: string): Promise<void> {
  const { method, bodyType, authentication } = operation;
  const { url, init } = exampleRequest(operation);
  const send: Send = (more) => {
    const headers = { ...init.headers, ...more.headers } as Record<string, string>;
    // Public operations ignore the caller.
    return recorder.send(url, { ...init, ...more, headers }, authentication !== 'none');
  };
  for (const status of await sendInvalidTokens(recorder, send)) {
    if (authentication === 'required') assert.equal(status, 401, url);
  }
  if (bodyType === null || method === 'GET') return;
  const authorization = `Bearer ${token}`;
  if (bodyType === 'application/json') {
    const status = await send({
      headers: { authorization, 'content-type': bodyType },
      body: withSecretTexts(recorder, String(init.body ?? '{}')),
    });
    assert(status < 500, `${url} returned ${status}`);
  }
  await sendInvalidBodies(recorder, send, authorization, url);
  if (bodyType === 'multipart/form-data') await sendInvalidForms(recorder, send, authorization);
}

/** Sends the request of an operation with other headers or another body. Returns the status. */
type Send = (changes: RequestInit) => Promise<number>;

async function sendInvalidTokens({ secret }: Recorder, send: Send): Promise<number[]> {
  const statuses: number[] = [];
  for (const authorization of [
    `Bearer ${secret('an unknown token')}`,
    `Bearer sps_${secret('an unknown token')}`,
    `Bearer ${secret('a malformed token')} ${secret('and more of it')}`,
    `Basic ${secret('basic credentials')}`,
    secret('an authorization header'),
  ]) {
    const cookie = `session=${secret('a cookie')}`;
    statuses.push(await send({ headers: { authorization, cookie } }));
  }
  return statuses;
}

/** Replaces all texts in a JSON body. */
function withSecretTexts({ secret }: Recorder, body: string): string {
  return JSON.stringify(JSON.parse(body), (name, value) =>
    typeof value === 'string' ? secret(`${name} in a body`) : value,
  );
}

async function sendInvalidBodies(
  { secret }: Recorder,
  send: Send,
  authorization: string,
  url: string,
): Promise<void> {
  const password = () => secret('a password in a body');
  for (const body of [
    `{"password": "${password()}", "currentPassword": "${password()}`,
    `{"password": "${password()}" "newPassword": "${password()}"}`,
    `${password()}`,
    `"${password()}"`,
    `["${password()}"]`,
    `{"__proto__": "${password()}"}`,
    `{"password": "${password()}\\u0000"}`,
    JSON.stringify({ password: [password()], currentPassword: { is: password() }, email: 1 }),
    JSON.stringify({ username: password(), email: password(), text: [password()], bio: 7 }),
    JSON.stringify({ email: `${password()}@x`, password: password(), surplus: password() }),
    JSON.stringify({ password: password().repeat(1000) }),
  ]) {
    const headers = { authorization, 'content-type': 'application/json' };
    const status = await send({ headers, body });
    assert([400, 401, 413, 415].includes(status), `${url} returned ${status}`);
  }
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', `x/${password()}`]) {
    const headers = { authorization, 'content-type': type };
    assert.equal(await send({ headers, body: `password=${password()}` }), 415, url);
  }
}

async function sendInvalidForms(
  { secret }: Recorder,
  send: Send,
  authorization: string,
): Promise<void> {
  const upload = (name: string, file: Blob) => {
    const body = new FormData();
    body.set(name, file, `${secret('a file name')}.jpg`);
    return send({ headers: { authorization }, body });
  };
  assert.equal(await upload('avatar', new Blob([secret('a file')])), 415);
  assert.equal(await upload(secret('a field'), new Blob([secret('a file')])), 400);
  const broken = Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    Buffer.from(secret('an avatar')),
  ]);
  assert.equal(await upload('avatar', new Blob([broken])), 422);
  const large = new Blob([secret('a large file').repeat(300_000)]);
  assert.equal(await upload('avatar', large), 413);
  const headers = { authorization, 'content-type': 'multipart/form-data; boundary=x' };
  assert.equal(await send({ headers, body: `--x\r\n${secret('a password in a body')}` }), 400);
}

/** Sends requests that do not reach an operation: unknown paths and methods, and malformed HTTP. */
async function provokeOutsideOperations(
  url: string,
  { secret, send, visibleTexts }: Recorder,
  token: string,
) {
  const headers = () => ({ authorization: `Bearer ${secret('a token')}` });
  const body = () => secret('an ignored body');
  assert.equal(await send('/api/nothing', { headers: headers() }), 404);
  assert.equal(
    await send('/api/nothing', { method: 'POST', headers: headers(), body: body() }),
    404,
  );
  assert.equal(await send('/api/auth/login', { method: 'PUT', body: body() }), 405);
  assert.equal(await send('/metrics', { headers: headers() }), 401);
  const authorization = `Authorization: Bearer ${secret('a raw token')}`;
  for (const bytes of [
    `GET /api/profile/me HTTP/1.1\r\nHost: a\r\nHost: b\r\n${authorization}\r\n\r\n`,
    `${body()}\r\n\r\n`,
    `POST /api/auth/login HTTP/1.1\r\nHost: a\r\n${authorization}\r\nContent-Length: ${body()}\r\n\r\n`,
    head('GET', '/api/profile/me', {
      Authorization: `Bearer ${secret('a long token').repeat(1000)}`,
    }),
    head('GET', '/api/profile/me', { Authorization: `Bearer ${token}`, Expect: body() }),
    `${head('POST', '/api/auth/login', { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' })}${body()}\r\n`,
  ]) {
    const response = await sendRaw(url, bytes);
    assert(
      response && response.status >= 400,
      `${bytes.slice(0, 200)} returned ${response?.status}`,
    );
    visibleTexts.push(JSON.stringify([...response.headers]), response.body);
    for (const name of REVEALING_HEADERS) assert(!response.headers.has(name), name);
  }
}

/** Damages the schema and the data, so that requests fail with an internal error. */
async function provokeFailures({ url, location }: Server, recorder: Recorder, pass: number) {
  const { secrets, secret, send } = recorder;
  const password = secret('a password');
  const { email, token } = await register(url, `failing-${pass}`, password);
  secrets.set(`the token of failing-${pass}`, token);
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const put = (path: string, body: object) =>
    send(path, { method: 'PUT', headers, body: JSON.stringify(body) });
  await using engine = await openDatabase(location, { purpose: 'command' });
  const { db } = engine;
  // In a transaction. Otherwise, SQLite's read handle prepares the statement first, and knows only the former column.
  const run = (statement: RawBuilder<unknown>) => transact(engine, (trx) => statement.execute(trx));
  await run(sql`ALTER TABLE users RENAME COLUMN bio TO biography`);
  assert.equal(await put('/api/profile/bio', { bio: secret('a bio') }), 500);
  assert.equal(await send('/api/profile/me', { headers }), 500);
  await run(sql`ALTER TABLE users RENAME COLUMN biography TO bio`);

  // A trigger that rejects changes. On PostgreSQL, its error contains the whole row.
  await createTrigger(db);
  assert.equal(await put('/api/profile/bio', { bio: secret('a bio') }), 500);
  const newPassword = secret('a password');
  const change = { currentPassword: password, newPassword };
  assert.equal(await put('/api/profile/password', change), 500);
  await dropTrigger(db);

  // A malformed password hash.
  const password_hash = `$argon2id$${secret('a broken hash')}`;
  await db.updateTable('users').set({ password_hash }).where('email', '=', email).execute();
  assert.equal(await put('/api/profile/password', change), 500);
  const login = JSON.stringify({ email, password: secret('a password') });
  assert.equal(await send('/api/auth/login', { method: 'POST', headers, body: login }), 500);
}

/** Creates a trigger that rejects every change of a user. */
async function createTrigger(db: Database): Promise<void> {
  if (!isPostgresql) {
    await sql`CREATE TRIGGER refuse BEFORE UPDATE ON users BEGIN
      SELECT RAISE(ABORT, 'refused'); END`.execute(db);
    return;
  }
  await sql`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN RAISE EXCEPTION ''refused'' USING DETAIL = row_to_json(NEW)::text; END'`.execute(db);
  await sql`CREATE TRIGGER refuse BEFORE UPDATE ON users
    FOR EACH ROW EXECUTE FUNCTION refuse()`.execute(db);
}

async function dropTrigger(db: Database): Promise<void> {
  if (!isPostgresql) await sql`DROP TRIGGER refuse`.execute(db);
  else await sql`DROP FUNCTION refuse CASCADE`.execute(db);
}

/** Sends more concurrent logins than the service can verify. */
async function provokeOverload({ secret, send }: Recorder): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const statuses = await Promise.all(
    Array.from({ length: OVERLOAD_LOGINS }, () => {
      const body = JSON.stringify({ email: 'x@example.org', password: secret('a password') });
      return send('/api/auth/login', { method: 'POST', headers, body });
    }),
  );
  // Some are rejected with 503 before they are repeated.
  assert.deepEqual([...new Set(statuses)], [401]);
}
