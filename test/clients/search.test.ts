import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiError, SearchAPI, SearchError } from '../../client/index.ts';
import * as api from '../../generated/sdk.gen.ts';
import { startApp, type TestApp } from '../support/app.ts';

let app: TestApp;
let url: string;
/** `fetch` that holds every exchange against the contract. */
let contractual: typeof fetch;

beforeAll(async () => {
  app = await startApp();
  url = app.url;
  contractual = app.client().getConfig().fetch as typeof fetch;
  const { client } = await app.register('baker');
  const create = (title: string, tags: string[], visibility: 'public' | 'private' = 'public') =>
    api.createSpace({
      client,
      body: { title, description: '', visibility, tags },
      throwOnError: true,
    });
  await create('Sourdough', ['baking']);
  await create('Baking for two', ['C#', 'a/b?c=100%', '日本', '$&']);
  await create('Baking in secret', ['baking'], 'private');
});
afterAll(() => app[Symbol.asyncDispose]());

const titles = (spaces: { title: string }[] | null) => spaces?.map(({ title }) => title);

/** A search API and the requests that it made, as path and query. */
function recorded(answer: typeof fetch = contractual) {
  const requests: string[] = [];
  const search = new SearchAPI({
    baseUrl: url,
    fetch: (input, init) => {
      const { pathname, search } = new URL((input as Request).url);
      requests.push(pathname + search);
      return answer(input, init);
    },
  });
  return { search, requests };
}

const isTagSearch = (input: unknown) => (input as Request).url.includes('/api/spaces/tag/');

describe('results', () => {
  test('are those of the tag search and those of the full-text search, apart', async () => {
    const { search, requests } = recorded();
    const { tagSearchResults, generalSearchResults } = await search.search('baking');
    expect(titles(tagSearchResults)).toEqual(['Sourdough']);
    expect(titles(generalSearchResults)).toEqual(['Baking for two']);
    expect(requests.sort()).toEqual(['/api/spaces/search?q=baking', '/api/spaces/tag/baking']);
  });

  test('are public spaces only, whatever the answers hold and whatever type they declare', async () => {
    const found = [
      { title: 'open', visibility: 'public' },
      { title: 'closed', visibility: 'private' },
    ];
    const { tagSearchResults, generalSearchResults } = await recorded(
      async () => new Response(JSON.stringify(found)),
    ).search.search('x');
    expect(titles(tagSearchResults)).toEqual(['open']);
    expect(titles(generalSearchResults)).toEqual(['open']);
  });

  test('come from two requests under way at the same time', async () => {
    const both = Promise.withResolvers<void>();
    let underWay = 0;
    const { search } = recorded(async (input, init) => {
      underWay += 1;
      if (underWay === 2) both.resolve();
      await both.promise;
      return contractual(input, init);
    });
    await search.search('baking');
    expect(underWay).toBe(2);
  });
});

describe('queries', () => {
  test.each(['', ' ', '\t\n\u00a0\u3000'])(
    'that are blank find nothing without a request: %j',
    async (query) => {
      const { search, requests } = recorded();
      expect(await search.search(query)).toEqual({
        tagSearchResults: [],
        generalSearchResults: [],
      });
      expect(requests).toEqual([]);
    },
  );

  test.each(['.', '..', ' .. '])('that are dots are not looked up as a tag: %j', async (query) => {
    const { search, requests } = recorded();
    expect((await search.search(query)).tagSearchResults).toEqual([]);
    expect(requests).toEqual([`/api/spaces/search?q=${query.trim()}`]);
  });

  test.each(['#baking', 'BAKING ', 'c#', 'A/b?c=100%', '日本', '$&'])(
    'of any characters reach the tag: %j',
    async (query) => {
      expect((await recorded().search.search(query)).tagSearchResults).toHaveLength(1);
    },
  );

  test('with halves of surrogate pairs travel with the replacement character in their place', async () => {
    const { search, requests } = recorded();
    await search.search('a\ud83dz\ude00😀');
    expect(requests).toContain('/api/spaces/search?q=a%EF%BF%BDz%EF%BF%BD%F0%9F%98%80');
  });

  test('longer than the service takes are searched by their beginning, and by no tag', async () => {
    const { search, requests } = recorded();
    const beginning = `sourdough ${'😀'.repeat(190)}`;
    expect((await search.search(`${beginning}😀`)).tagSearchResults).toEqual([]);
    expect(requests).toEqual([`/api/spaces/search?q=${encodeURIComponent(beginning)}`]);
  });

  test('are as long as they are without the space around them', async () => {
    const { tagSearchResults } = await recorded().search.search(`${' '.repeat(200)}baking\n`);
    expect(titles(tagSearchResults)).toEqual(['Sourdough']);
  });

  test('never fail for what they contain', async () => {
    const { search } = recorded();
    const anything = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 40 }),
      fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units)),
      fc.string({ unit: fc.constantFrom(...'./\\%#?&+:;"*()\0\n ') }),
    );
    await fc.assert(
      fc.asyncProperty(anything, async (query) => {
        const { tagSearchResults, generalSearchResults } = await search.search(query);
        expect(tagSearchResults).toBeInstanceOf(Array);
        expect(generalSearchResults).toBeInstanceOf(Array);
      }),
      { numRuns: 200, examples: [['\0'], ['%2e%2e'], ['./..'], ['\\..'], ['\u202e'], ['。']] },
    );
  });
});

describe('failures', () => {
  const failing = (isHit: (input: unknown) => boolean, fail: () => Response | Promise<Response>) =>
    recorded(async (input, init) => (isHit(input) ? fail() : contractual(input, init))).search;
  const errorOf = async (search: SearchAPI, query = 'baking') => {
    const error = await search.search(query).then(
      () => null,
      (error: unknown) => error,
    );
    expect(error).toBeInstanceOf(SearchError);
    return error as SearchError;
  };

  test('of the tag search carry what the full-text search found', async () => {
    const error = await errorOf(failing(isTagSearch, () => Promise.reject(new TypeError('reset'))));
    expect(titles(error.generalSearchResults)).toEqual(['Baking for two']);
    expect(error).toMatchObject({ tagSearchResults: null, generalSearchError: null });
    expect(error.tagSearchError).toBeInstanceOf(ApiError);
    expect(error.tagSearchError).toMatchObject({
      status: null,
      problem: null,
      cause: new TypeError('reset'),
    });
    expect(error.cause).toBe(error.tagSearchError);
    expect(error.message).toBe('No answer came: reset');
  });

  test('of the full-text search carry what the tag search found', async () => {
    const error = await errorOf(
      failing(
        (input) => !isTagSearch(input),
        () => new Response('<h1>Bad Gateway</h1>', { status: 502 }),
      ),
    );
    expect(titles(error.tagSearchResults)).toEqual(['Sourdough']);
    expect(error).toMatchObject({ generalSearchResults: null, tagSearchError: null });
    expect(error.generalSearchError).toMatchObject({ status: 502, problem: null });
    expect(error.cause).toBe(error.generalSearchError);
  });

  test('of both carry both', async () => {
    await using busy = await startApp({ RATE_LIMITS: 'on', PUBLIC_RATE_LIMIT: '2' });
    const fetch = busy.client().getConfig().fetch as typeof globalThis.fetch;
    const search = new SearchAPI({ baseUrl: busy.url, fetch });
    await search.search('baking');
    const error = await errorOf(search);
    expect(error).toMatchObject({ tagSearchResults: null, generalSearchResults: null });
    for (const half of [error.tagSearchError, error.generalSearchError]) {
      expect(half).toMatchObject({ status: 429, problem: { code: 'too_many_requests' } });
      expect(half?.retryAfter).toBeGreaterThan(0);
    }
  });

  test.each([
    ['a page of HTML', '<h1>Sign in to the network</h1>'],
    ['nothing', ''],
    ['an object', '{"results":[]}'],
    ['null', 'null'],
  ])('include a 200 that holds %s', async (_, body) => {
    const error = await errorOf(failing(isTagSearch, () => new Response(body)));
    expect(error.tagSearchError).toMatchObject({ status: 200, problem: null });
    expect(titles(error.generalSearchResults)).toEqual(['Baking for two']);
  });
});

describe('an abort', () => {
  test('ends both requests and rejects with its reason', async () => {
    const controller = new AbortController();
    const reason = new Error('typed on');
    const signals: AbortSignal[] = [];
    const { search } = recorded((input, init) => {
      signals.push((input as Request).signal);
      if (signals.length === 2) controller.abort(reason);
      return fetch(input, init);
    });
    await expect(search.search('baking', { signal: controller.signal })).rejects.toBe(reason);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
  });

  test('rejects though one search had failed before', async () => {
    const controller = new AbortController();
    const { search } = recorded(async (input, init) => {
      if (isTagSearch(input)) return new Response('', { status: 500 });
      controller.abort();
      return fetch(input, init);
    });
    await expect(search.search('baking', { signal: controller.signal })).rejects.toMatchObject({
      name: 'AbortError',
    });
  });

  test('before the search sends nothing', async () => {
    const { search } = recorded(fetch);
    let reached = 0;
    app.app.server.on('request', () => (reached += 1));
    await expect(search.search('baking', { signal: AbortSignal.abort('no') })).rejects.toBe('no');
    expect(reached).toBe(0);
  });

  test('is an AbortError where signals carry no reason', async () => {
    const { search } = recorded(() => Promise.reject(new Error('aborted')));
    const { signal } = new AbortController();
    Object.defineProperties(signal, { aborted: { value: true }, reason: { value: undefined } });
    await expect(search.search('baking', { signal })).rejects.toMatchObject({ name: 'AbortError' });
  });
});
