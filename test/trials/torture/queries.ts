import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import fc from 'fast-check';
import { importSample } from '../../../server/sample/import-sample.ts';
import { type Exchange, validateExchange } from '../../support/contract.ts';
import { createTestDatabase } from '../../support/databases.ts';
import { retryWhileUnavailable } from '../../support/retry.ts';
import { startServer } from '../../support/server.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { formatCounts } from './people.ts';
import type { Trial } from './trial.ts';

/** Number of concurrent searches. */
const CONCURRENCY = 20;

/** Slightly below the server's limit for the request line. */
const MAX_TARGET_LENGTH = 15_500;

/** Searches with several results. */
const SEARCHES = [
  '/api/spaces/search?q=a',
  '/api/spaces/search?q=bread',
  '/api/spaces/search?q=bread&as_typed=true',
  '/api/spaces/tag/bread?',
];

/** A search with results only after the dictionary has been built. */
const CORRECTED_SEARCH = '/api/spaces/search?q=braed';
const DICTIONARY_TIMEOUT_MS = 60_000;

interface Search {
  /** The percent-encoded tag; undefined for a search by text. */
  tag: string | undefined;
  /** The query string. */
  query: string;
}

export const queries: Trial = {
  promise: 'No query, tag, limit or cursor breaks the search.',
  runsOnPostgresql: true,
  async run(scale) {
    const count = scale === 'full' ? 100_000 : 1_000;
    const dataDir = await mkdtemp(join(tmpdir(), 'space-service-queries-'));
    await using database = await createTestDatabase();
    const agent = new Agent({ keepAlive: true, maxSockets: CONCURRENCY });
    try {
      await importSample({ dataDir, ...database.location });
      await using server = await startServer({ ...database.settings, DATA_DIR: dataDir });
      const get = (target: string) => retryWhileUnavailable(() => send(server.url, target, agent));
      await waitForDictionary(get);
      const searches = [...SEARCHES, CORRECTED_SEARCH];
      const readKnownSearches = () =>
        Promise.all(searches.map(async (each) => (await get(each)).body));
      const before = await readKnownSearches();
      const cursors = await collectCursors(get, searches);

      const statuses = new Map<number, number>();
      let results = 0;
      const search = async ({ tag, query }: Search) => {
        const path = tag === undefined ? '/api/spaces/search' : `/api/spaces/tag/${tag}`;
        const exchange = await get(`${path}?${query}`);
        const { status, body } = exchange;
        assert([200, 400, 404].includes(status), `${path}?${query} -> ${status}: ${body}`);
        // A URL object cannot contain a tag such as `../..`, so the contract is checked with another tag.
        const url = tag === undefined ? exchange.url : `${server.url}/api/spaces/tag/any?${query}`;
        validateExchange({ ...exchange, url });
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        if (status === 200) results += JSON.parse(body).length;
      };
      await fc.assert(
        fc.asyncProperty(
          fc.array(anySearch(cursors), { minLength: CONCURRENCY, maxLength: CONCURRENCY }),
          async (searches) => {
            await Promise.all(searches.map(search));
          },
        ),
        { numRuns: count / CONCURRENCY, includeErrorInReport: true },
      );

      assert.equal(server.child.exitCode, null, server.output());
      assert.deepEqual(
        await readKnownSearches(),
        before,
        'known searches return other results than before',
      );
      assert.equal(server.unexpectedOutput(), '', 'the server logged a warning');
      return `${count} searches, ${formatCounts([...statuses].sort())}, ${results} results in total; every response matches the contract, 0 times 5xx`;
    } finally {
      agent.destroy();
      await rm(dataDir, { recursive: true, force: true });
    }
  },
};

/** Sends a request target unchanged. `fetch` would normalise it. */
function send(url: string, target: string, agent: Agent): Promise<Exchange> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { path: target, agent }, async (response) => {
      try {
        const headers = new Headers(response.headers as Record<string, string>);
        const status = response.statusCode ?? 0;
        const body = await readText(response);
        resolve({ method: 'GET', url: url + target, status, headers, body });
      } catch (error) {
        reject(error);
      }
    });
    sent.on('error', (cause) => reject(new Error(`${target} got no response`, { cause })));
    sent.end();
  });
}

async function waitForDictionary(get: (target: string) => Promise<Exchange>): Promise<void> {
  await waitUntil(
    `${CORRECTED_SEARCH} returns results`,
    async () => (await get(CORRECTED_SEARCH)).body !== '[]',
    DICTIONARY_TIMEOUT_MS,
  );
}

/** Returns the cursors of the first ten pages of each search. */
async function collectCursors(
  get: (target: string) => Promise<Exchange>,
  searches: readonly string[],
): Promise<string[]> {
  const cursors: string[] = [];
  for (const first of searches) {
    let next: string | undefined = `${first}&limit=3`;
    for (let page = 0; next && page < 10; page += 1) {
      const link: string = (await get(next)).headers.get('link') ?? '';
      next = /^<(.+)>/.exec(link)?.[1];
      const cursor = next && /cursor=([^&]+)/.exec(next)?.[1];
      if (cursor) cursors.push(cursor);
    }
  }
  assert(cursors.length > 3, 'the searches have too few pages');
  return cursors;
}

/** Words, and texts with a meaning in the syntax of FTS5, SQL, URLs or Unicode. */
const FRAGMENTS = [
  ...'"\'*^+-():;,.#%_\\/',
  '""',
  '"""',
  ...['NEAR(', 'NEAR/3', ' AND ', ' OR ', ' NOT ', '{title}:', 'title :', 'rank', '--', '/*', '*/'],
  ...'\');DROP TABLE spaces;--|"a" OR "b"|a* b*|^a|NEAR(a b, 9)|title:a|- title:a|"a b" + c'.split(
    '|',
  ),
  ...'\0\u001a\u0085\u200b\u200d\u202e\ufeff\ufffd\uffff\u{10ffff}',
  ...['\ud800', '\udc00', 'ﷺ', 'İ', 'ß', 'ﬃ', 'e\u0301', '\u0301', 'क्ष', '👩‍👩‍👧', '🇩🇪', '½', '①'],
  ...'a bread braed tea c++ node.js .net 東京 きょう ไทย сад כלב'.split(' '),
  ' ',
];

const anyText = fc.oneof(
  fc.constantFrom('a', 'b', 'bread', 'BRE', 'braed', '#tea', 'c++', '東', 'ch'),
  fc
    .array(fc.oneof(fc.constantFrom(...FRAGMENTS), fc.string({ unit: 'binary', maxLength: 2 })), {
      maxLength: 12,
    })
    .map((parts) => parts.join('')),
  fc.string({ unit: 'binary', maxLength: 210 }),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  // UTF-16 code units, including lone surrogates.
  fc
    .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 210 })
    .map((units) => String.fromCharCode(...units)),
  fc
    .tuple(fc.constantFrom(...FRAGMENTS), fc.constantFrom(10, 199, 200, 201, 5_000))
    .map(([part, times]) => part.repeat(times).slice(0, MAX_TARGET_LENGTH)),
);

/** Percent-encodes every character. Lone surrogates become three bytes, as in CESU-8. */
const encodeAll = (text: string) =>
  [...text]
    .map((each) => (each.isWellFormed() ? encodeURIComponent(each) : encodeSurrogate(each)))
    .join('');

const encodeSurrogate = (surrogate: string) => {
  const unit = surrogate.charCodeAt(0);
  const bytes = [0xe0 | (unit >> 12), 0x80 | ((unit >> 6) & 0x3f), 0x80 | (unit & 0x3f)];
  return bytes.map((byte) => `%${byte.toString(16)}`).join('');
};

/** Percent-encodes only characters that a request target cannot contain. U+0080 to U+00FF are sent as single bytes. */
const encodeMinimally = (text: string) =>
  [...text]
    .map((each) => (/[!"$-.0-9:;<>=@-~\u0080-\u00ff]/.test(each) ? each : encodeAll(each)))
    .join('');

const anyEncoded = fc
  .tuple(anyText, fc.constantFrom(encodeAll, encodeAll, encodeMinimally))
  .map(([text, encode]) => encode(text));

const anyLimit = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: 1, max: 100 }).map(String) },
  fc.constantFrom(
    '',
    '-1',
    '0',
    '101',
    '1e2',
    '1.5',
    '1e400',
    'NaN',
    '0x10',
    '%D9%A3',
    '%205',
    'null',
  ),
  fc.maxSafeInteger().map(String),
);

/** Other parts of a query string. */
const anyRest = fc.oneof(
  { weight: 5, arbitrary: fc.constant('') },
  fc.constantFrom(
    ...['&', '&=', '&&&&', '&q=b', '&q[]=c', '&Q=d', '&%FF=1', '&x=%E0%A4%A', '&x=%', '&limit=5'],
    ...['&__proto__=1', '&constructor[prototype][x]=1', '&toString=1', '&cursor=', '&q%00=1'],
  ),
);

function anySearch(cursors: readonly string[]): fc.Arbitrary<Search> {
  const cursor = fc.constantFrom(...cursors);
  const part = fc.oneof(
    ...[fc.integer(), fc.maxSafeInteger(), fc.double(), fc.string(), fc.jsonValue()],
    fc.constantFrom<unknown>(null, true, {}, [], [1], '', '1', 'bread', '\0', '"'),
    fc.constantFrom(2 ** 53, 2 ** 63, -(2 ** 63)),
  );
  const write = (parts: unknown) => Buffer.from(JSON.stringify(parts) ?? '').toString('base64url');
  const anyCursor = fc.oneof(
    { weight: 2, arbitrary: cursor },
    // A position that was not sealed, and a sealed cursor with one changed byte.
    fc.array(part, { maxLength: 6 }).map(write),
    fc.tuple(cursor, fc.nat(), fc.nat(255)).map(([whole, i, byte]) => {
      const bytes = Buffer.from(whole, 'base64url');
      bytes[i % bytes.length] = byte;
      return bytes.toString('base64url');
    }),
    fc.tuple(cursor, fc.nat(), fc.string({ maxLength: 3 })).map(([whole, i, other]) => {
      const at = i % whole.length;
      return encodeAll(whole.slice(0, at) + other + whole.slice(at + other.length));
    }),
    anyEncoded,
  );
  const option = (name: string, value: fc.Arbitrary<string>) =>
    fc
      .option(value, { freq: 2, nil: undefined })
      .map((text) => (text === undefined ? '' : `&${name}=${text}`));
  return fc
    .record({
      isByTag: fc.boolean(),
      text: anyEncoded,
      limit: option('limit', anyLimit),
      cursor: option('cursor', anyCursor),
      asTyped: option(
        'as_typed',
        fc.constantFrom('true', 'false', 'true', 'false', '', '1', 'TRUE'),
      ),
      rest: anyRest,
    })
    .map(({ isByTag, text, limit, cursor, asTyped, rest }) => {
      const options = limit + cursor + asTyped + rest;
      const longest = Math.max(0, MAX_TARGET_LENGTH - options.length);
      const clipped = text.slice(0, longest);
      return isByTag
        ? { tag: clipped, query: options.slice(1, MAX_TARGET_LENGTH) }
        : { tag: undefined, query: `q=${clipped}${options}`.slice(0, MAX_TARGET_LENGTH) };
    });
}
