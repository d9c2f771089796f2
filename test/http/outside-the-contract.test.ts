import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { contractText } from '../../server/contract.ts';
import { startApp, type TestApp } from '../support/app.ts';
import { databaseError, makeReadOnly, UNAVAILABLE_CODES } from '../support/databases.ts';
import { type Failure, failingEngine } from '../support/failing-engine.ts';
import { useRealHashingCost } from '../support/hashing-cost.ts';
import { parseMetrics } from '../support/metrics.ts';
import { openapi } from '../support/openapi.ts';
import { head, openRaw, sendRaw, validateRaw } from '../support/raw.ts';
import { recordLog } from '../support/record-log.ts';

let app: TestApp;
beforeAll(async () => {
  // Otherwise, the queue for password hashing is empty before its length is read.
  useRealHashingCost();
  app = await startApp({ METRICS_TOKEN: 'sesame', PUBLIC_URL: 'https://spaces.example.org/v1' });
});
afterAll(() => app[Symbol.asyncDispose]());

/** Requests a path unchanged. `fetch` would resolve dot segments. */
async function get(path: string) {
  return validateRaw('GET', app.url + path, await sendRaw(app.url, head('GET', path)));
}

describe('/openapi.yaml', () => {
  test('serves the contract with the URL of this server', async () => {
    const response = await app.fetch('/openapi.yaml');
    expect(response.headers.get('content-type')).toBe('application/yaml');
    expect(parse(await response.text())).toEqual({
      ...openapi,
      servers: [{ url: 'https://spaces.example.org/v1' }],
    });
  });

  test('differs from the file only in the lines of the server', async () => {
    const served = await (await app.fetch('/openapi.yaml')).text();
    const withoutServer = (text: string) =>
      text.replace(/(?<=^servers:\n) {2}- url: .*\n(?: {4}.*\n)*/m, '');
    expect(withoutServer(served)).not.toBe(served);
    expect(withoutServer(served)).toBe(withoutServer(contractText));
  });
});

test('/openapi.json serves the same contract as /openapi.yaml', async () => {
  const response = await app.fetch('/openapi.json');
  expect(response.headers.get('content-type')).toBe('application/json');
  expect(await response.json()).toEqual(parse(await (await app.fetch('/openapi.yaml')).text()));
});

describe('/docs', () => {
  test.each(['/docs', '/docs/'])(
    'serves a page at %s that complies with its Content-Security-Policy',
    async (path) => {
      const response = await app.fetch(path);
      expect(response.headers.get('content-type')).toMatch(/^text\/html/);
      const policy = directivesOf(response);
      expect(policy.get('default-src')).toBe("'self'");
      const [, nonce] = /^'self' 'nonce-(\S+)'$/.exec(policy.get('script-src') ?? '') ?? [];
      expect(nonce).toHaveLength(24);
      expect(policy.get('style-src')).not.toContain('unsafe');
      expect(policy.get('connect-src')).toBe("'self' https://spaces.example.org");

      const page = await response.text();
      const scripts = [...page.matchAll(/<script([^>]*)>/g)].map(([, attributes]) => attributes);
      expect(scripts).toHaveLength(2);
      for (const attributes of scripts) expect(attributes).toContain(`nonce="${nonce}"`);
      expect(page).not.toMatch(/<style| style=| on\w+=|https?:/);
      const [, source = ''] = /<script[^>]* src="([^"]+)"/.exec(page) ?? [];
      const script = await fetch(new URL(source, response.url));
      expect(script.headers.get('content-type')).toMatch(/javascript/);
      expect(await script.text()).toContain('createApiReference');
    },
  );

  test('has another nonce in each response', async () => {
    const [first, second] = await Promise.all([app.fetch('/docs/'), app.fetch('/docs/')]);
    expect(await first.text()).not.toBe(await second.text());
  });

  test('shows the contract, with each section of its description as a page and the codes of errors', async () => {
    const shown = await (await app.fetch('/docs/contract.json')).json();
    expect(shown.servers).toEqual([{ url: 'https://spaces.example.org/v1' }]);
    expect(shown.paths).toHaveProperty('/api/messages');
    const [rules, operations] = shown['x-tagGroups'];
    expect(rules.tags).toEqual(expect.arrayContaining(['Errors', 'Pagination', 'Rate limits']));
    expect(operations.tags).toContain('Messages');
    const errors = shown.tags.find(({ name }: { name: string }) => name === 'Errors');
    expect(errors.description).toContain('application/problem+json');
    expect(shown.info.description).not.toContain('##');
    const { responses } = shown.components;
    expect(responses.UsernameTaken.description).toMatch(/`username_taken`, `username_reserved`$/);
  });

  test('rejects other paths with 404', async () => {
    for (const path of ['nothing.js', 'js/../../package.json', 'js/%2e%2e/package.json']) {
      expect((await get(`/docs/${path}`)).status).toBe(404);
    }
  });
});

describe('/healthz and /readyz', () => {
  test.each([
    ['/healthz', { status: 'ok' }],
    ['/readyz', { status: 'ready' }],
  ])('respond with 200: %s', async (path, body) => {
    const response = await app.fetch(path);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual(body);
  });

  test.each([
    ['an unavailable', databaseError('disk I/O error', UNAVAILABLE_CODES[0])],
    ['a damaged', new Error('file is not a database')],
  ])('report that the service is alive but not ready with %s database', async (_, error) => {
    let failure: Failure | undefined;
    await using failing = await startApp(
      {},
      { engine: (real) => failingEngine(real, () => failure) },
    );
    failure = { error, after: 0 };
    const response = await failing.fetch('/readyz');
    expect(await response.json()).toMatchObject({ status: 503, code: 'unavailable' });
    expect((await failing.fetch('/healthz')).status).toBe(200);
    failure = undefined;
    expect((await failing.fetch('/readyz')).status).toBe(200);
  });

  test('report readiness while the database is read-only, because searches still work', async () => {
    await using full = await startApp();
    await makeReadOnly(full.context.engine);
    await expect(full.register()).rejects.toMatchObject({ status: 503, code: 'unavailable' });
    expect((await full.fetch('/readyz')).status).toBe(200);
    expect((await full.fetch('/api/spaces/search?q=tea')).status).toBe(200);
  });
});

describe('/metrics', () => {
  const headers = { authorization: 'Bearer sesame' };
  const scrape = async (from = app) => {
    const response = await from.fetch('/metrics', { headers });
    expect(response.headers.get('content-type')).toMatch(/^text\/plain/);
    return response.text();
  };

  test('requires METRICS_TOKEN', async () => {
    for (const authorization of [
      undefined,
      'Bearer',
      'Bearer sesam',
      'Bearer sesame2',
      'Basic sesame',
      'sesame',
    ]) {
      const response = await app.fetch('/metrics', {
        headers: authorization === undefined ? {} : { authorization },
      });
      expect(await response.json()).toMatchObject({ status: 401, code: 'unauthenticated' });
      expect(response.headers.get('www-authenticate')).toMatch(/^Bearer/);
    }
    for (const scheme of ['Bearer', 'bearer']) {
      const response = await app.fetch('/metrics', {
        headers: { authorization: `${scheme} sesame` },
      });
      expect(response.status).toBe(200);
    }
  });

  test('counts requests by operation and status', async () => {
    const countOf = (text: string, labels: string) =>
      parseMetrics(text)(`space_service_http_request_duration_seconds_count{${labels}}`) || 0;
    const before = await scrape();
    await app.fetch('/api/spaces/search?q=tea');
    await app.fetch('/api/spaces/search?q=other');
    await app.fetch('/api/spaces/search');
    await app.fetch('/nowhere/at-all');
    const after = await scrape();
    for (const [labels, count] of [
      ['operation="searchSpaces",status="200"', 2],
      ['operation="searchSpaces",status="400"', 1],
      ['operation="none",status="404"', 1],
    ] as const) {
      expect(countOf(after, labels) - countOf(before, labels)).toBe(count);
    }
    expect(after).toContain('nodejs_eventloop_lag');
    // Labels with paths or queries would reveal private data and make the number of series unbounded.
    expect(after).not.toMatch(/tea|at-all/);
  });

  test('counts and logs requests whose connection closes before the response ends', async () => {
    const { log, lines } = recordLog();
    await using logging = await startApp({ METRICS_TOKEN: 'sesame' }, { log });
    const arrived = new Promise<void>((resolve) => {
      logging.app.server.on(
        'request',
        ({ url }) => url === '/api/spaces/search?q=tea' && resolve(),
      );
    });
    const body = JSON.stringify({ email: 'nobody@example.com', password: 'anything at all' });
    const fields = { 'Content-Type': 'application/json', 'Content-Length': body.length };
    using connection = await openRaw(logging.url);
    await connection.write(
      `${head('POST', '/api/auth/login', fields)}${body}${head('GET', '/api/spaces/search?q=tea')}`,
    );
    await arrived;
    connection.socket.destroy();

    const msg = 'connection closed before the response ended';
    const readAborted = () => lines.filter((line) => line.msg === msg);
    await expect.poll(readAborted).toMatchObject([
      { method: 'POST', url: '/api/auth/login', ip: '127.0.0.1' },
      { method: 'GET', url: '/api/spaces/search?q=tea', ip: '127.0.0.1' },
    ]);
    for (const { milliseconds } of readAborted()) expect(milliseconds).toBeGreaterThan(0);
    const figure = parseMetrics(await scrape(logging));
    for (const operation of ['login', 'searchSpaces']) {
      const series = `space_service_http_request_duration_seconds_count{operation="${operation}",status="aborted"}`;
      expect(figure(series)).toBe(1);
    }
    await expect.poll(() => lines.filter(({ url }) => url === '/metrics')).toHaveLength(1);
    const answered = lines.filter((line) => line.msg === 'request answered');
    expect(answered).toMatchObject([{ url: '/metrics', status: 200 }]);
  });

  test('measures searches by kind, time in the database, and queues', async () => {
    const readMetrics = async () => parseMetrics(await scrape());
    const kinds = ['text', 'tag'].map(
      (kind) => `space_service_search_duration_seconds_count{kind="${kind}"}`,
    );
    const busy = 'space_service_database_busy_seconds_total';
    const earlier = await readMetrics();
    await app.fetch('/api/spaces/search?q=tea');
    await app.fetch('/api/spaces/tag/tea');
    await app.fetch('/api/spaces/search?q=tea&limit=1');
    const later = await readMetrics();
    const increase = (series: string) => later(series) - (earlier(series) || 0);
    expect(kinds.map(increase)).toEqual([2, 1]);
    // Queries of PostgreSQL do not block the event loop.
    expect(increase(busy)).toBeGreaterThan(0);
    expect(increase(busy)).toBeLessThan(5);
    expect(later('space_service_database_write_wait_seconds_total')).toBeGreaterThanOrEqual(0);
    expect(later('nodejs_eventloop_lag_p99_seconds')).toBeGreaterThan(0);

    // More than the server hashes concurrently.
    const logins = [...'abcdefghijkl'].map((name) =>
      app.fetch('/api/auth/login', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ email: `${name}@example.com`, password: 'anything at all' }),
      }),
    );
    await expect
      .poll(async () => (await readMetrics())('space_service_queue_length{queue="passwords"}'))
      .toBeGreaterThan(0);
    await Promise.all(logins);
    const afterwards = await readMetrics();
    for (const queue of ['passwords', 'avatars', 'writers', 'queries']) {
      expect(afterwards(`space_service_queue_length{queue="${queue}"}`)).toBe(0);
    }
  });

  test('shows an outage, even if the only failing requests are health checks', async () => {
    let failure: Failure | undefined;
    await using failing = await startApp(
      { METRICS_TOKEN: 'sesame' },
      { engine: (real) => failingEngine(real, () => failure) },
    );
    const readGauges = async () => {
      const figure = parseMetrics(await scrape(failing));
      const series = (resource: string) =>
        `space_service_resource_unavailable{resource="${resource}"}`;
      return [figure(series('database')), figure(series('avatar storage'))];
    };
    expect(await readGauges()).toEqual([0, 0]);
    failure = { error: databaseError('disk I/O error', UNAVAILABLE_CODES[0]), after: 0 };
    expect((await failing.fetch('/readyz')).status).toBe(503);
    expect(await readGauges()).toEqual([1, 0]);
  });

  test('labels every series with the instance', async () => {
    await using labelled = await startApp({ METRICS_TOKEN: 'sesame', INSTANCE: 'web-2' });
    await labelled.fetch('/api/spaces/search?q=tea');
    const series = (await scrape(labelled))
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    expect(series.length).toBeGreaterThan(50);
    for (const each of series) expect(each).toMatch(/[{,]instance="web-2"[},]/);
  });

  test('responds with 404 if METRICS_TOKEN is not set', async () => {
    await using plain = await startApp();
    const response = await plain.fetch('/metrics', { headers: { authorization: 'Bearer ' } });
    expect(response.status).toBe(404);
  });
});

describe('/avatars', () => {
  test('serves the default avatar to pages of any site', async () => {
    const response = await app.fetch('/avatars/default.webp', {
      headers: { origin: 'https://a.example' },
    });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('image/webp');
    expect(response.headers.get('cross-origin-resource-policy')).toBe('cross-origin');
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    // Not immutable, because a later version of the service may change the default avatar.
    expect(response.headers.get('cache-control')).toBe('public, max-age=86400');
    const bytes = Buffer.from(await response.arrayBuffer());
    expect(bytes.toString('latin1', 0, 4) + bytes.toString('latin1', 8, 12)).toBe('RIFFWEBP');
  });

  const withHeader = (name: string, value: string) =>
    app.fetch('/avatars/default.webp', { headers: { [name]: value } });

  test.each(['bytes=999999-', 'bytes=5-2', 'bytes=-0', 'bytes=abc', 'bytes='])(
    'rejects the unsatisfiable range %s with 416 and the size of the file',
    async (range) => {
      const { headers } = await app.fetch('/avatars/default.webp');
      const response = await withHeader('range', range);
      expect(await response.json()).toMatchObject({ status: 416, code: 'range_not_satisfiable' });
      expect(response.status).toBe(416);
      expect(response.headers.get('content-range')).toBe(
        `bytes */${headers.get('content-length')}`,
      );
    },
  );

  test.each([
    ['if-match', '"other"'],
    ['if-match', 'nonsense'],
    ['if-unmodified-since', 'Mon, 01 Jan 2001 00:00:00 GMT'],
  ])('rejects a failed precondition with 412: %s: %s', async (name, value) => {
    const response = await withHeader(name, value);
    expect(response.status).toBe(412);
    expect(await response.json()).toMatchObject({ status: 412, code: 'precondition_failed' });
    expect(response.headers.get('cache-control')).toBe('no-store');
  });

  test('serves ranges, and the whole file if a precondition is met or the range unit is unknown', async () => {
    const { headers } = await app.fetch('/avatars/default.webp');
    const part = await withHeader('range', 'bytes=0-3');
    expect([part.status, await part.text()]).toEqual([206, 'RIFF']);
    for (const [name, value] of [
      ['if-match', '*'],
      ['if-match', headers.get('etag')],
      ['if-unmodified-since', headers.get('last-modified')],
      ['range', 'items=0-1'],
    ] as const) {
      expect((await withHeader(name, value as string)).status, name).toBe(200);
    }
  });

  test.each([
    '',
    'nobody.webp',
    'AAAAAAAAAAAAAAAAAAAAAA.webp',
    'AAAAAAAAAAAAAAAAAAAAAA',
    'default.png',
    'default.webp/',
    'Default.webp',
    'default.webp%00',
    '.',
    '%2e%2e',
    '%2e%2e%2fspace-service.sqlite',
    '..%2f..%2f..%2fetc%2fpasswd',
    '%2fetc%2fpasswd',
    '..%5c..%5cx',
    'a'.repeat(5_000),
    'x%00y',
    '~',
  ])('rejects other names with 404: %s', async (name) => {
    const { headers, body } = await get(`/avatars/${name}`);
    expect(JSON.parse(body)).toMatchObject({ status: 404, code: 'not_found' });
    expect(headers.get('cache-control')).toBe('no-store');
  });
});

function directivesOf(response: Response): Map<string, string> {
  const policy = response.headers.get('content-security-policy') ?? '';
  return new Map(
    policy.split(';').flatMap((directive) => {
      const [name, ...sources] = directive.trim().split(/\s+/);
      return name ? [[name, sources.join(' ')]] : [];
    }),
  );
}
