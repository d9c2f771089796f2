import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  ApiError,
  type ApiOptions,
  ProfileAPI,
  SearchAPI,
  SearchError,
  type SearchOptions,
} from '../../client/index.ts';
import * as api from '../../generated/sdk.gen.ts';
import { startApp } from '../support/app.ts';
import { waitForDictionary } from '../support/dictionary.ts';
import { freePort } from '../support/ports.ts';
import { useApp } from '../support/use-app.ts';

const app = useApp();
let url: string;
/** `fetch` that validates every request and response against the contract. */
let validatingFetch: typeof fetch;

beforeAll(async () => {
  url = app.url;
  validatingFetch = app.client().getConfig().fetch as typeof fetch;
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
  // Corrections require the dictionary.
  await waitForDictionary(app);
});

const titles = (spaces: { title: string }[] | null) => spaces?.map(({ title }) => title);

/** Returns a SearchAPI and the paths and queries of its requests. */
function recordRequests(fetchResponse: typeof fetch = validatingFetch) {
  const requests: string[] = [];
  const search = new SearchAPI({
    baseUrl: url,
    fetch: (input, init) => {
      const { pathname, search } = new URL((input as Request).url);
      requests.push(pathname + search);
      return fetchResponse(input, init);
    },
  });
  return { search, requests };
}

const isTagSearch = (input: unknown) => (input as Request).url.includes('/api/spaces/tag/');

describe('search', () => {
  test('returns the results of the tag search and the text search separately', async () => {
    const { search, requests } = recordRequests();
    const { tagSearchResults, generalSearchResults } = await search.search('baking');
    expect(titles(tagSearchResults)).toEqual(['Sourdough']);
    expect(titles(generalSearchResults)).toEqual(['Baking for two']);
    expect(requests.sort()).toEqual(['/api/spaces/search?q=baking', '/api/spaces/tag/baking']);
  });

  test('removes private spaces from every response, regardless of its content type', async () => {
    const spaces = [
      { title: 'open', visibility: 'public' },
      { title: 'closed', visibility: 'private' },
    ];
    const { tagSearchResults, generalSearchResults } = await recordRequests(
      async () => new Response(JSON.stringify(spaces)),
    ).search.search('x');
    expect(titles(tagSearchResults)).toEqual(['open']);
    expect(titles(generalSearchResults)).toEqual(['open']);
  });

  test('sends both requests in parallel', async () => {
    const both = Promise.withResolvers<void>();
    let started = 0;
    const { search } = recordRequests(async (input, init) => {
      started += 1;
      if (started === 2) both.resolve();
      await both.promise;
      return validatingFetch(input, init);
    });
    await search.search('baking');
    expect(started).toBe(2);
  });
});

describe('the base URL', () => {
  test.each([undefined, {}, { baseUrl: '127.0.0.1:3000' }, { baseUrl: 'localhost:3000' }])(
    'is rejected if it is missing or has no scheme: %j',
    (options) => {
      const expected = new TypeError(
        `The option baseUrl is ${options?.baseUrl}. Set it to a string such as https://spaces.example.com.`,
      );
      expect(() => new SearchAPI(options as ApiOptions)).toThrow(expected);
      const profileOptions = options as ApiOptions & { token: string };
      expect(() => new ProfileAPI(profileOptions)).toThrow(expected);
    },
  );

  test.each(['http://localhost:3000', 'HTTPS://spaces.example.org/v1/', '/v1', ''])(
    'can be a URL, a path or empty: %j',
    (baseUrl) => {
      expect(() => new SearchAPI({ baseUrl })).not.toThrow();
    },
  );
});

describe('the query', () => {
  test.each(['', ' ', '\t\n\u00a0\u3000'])(
    'returns empty lists without a request if it is blank: %j',
    async (query) => {
      const { search, requests } = recordRequests();
      expect(await search.search(query)).toEqual({
        tagSearchResults: [],
        generalSearchResults: [],
      });
      expect(requests).toEqual([]);
    },
  );

  test.each(['.', '..', ' .. '])('sends no tag request for dots: %j', async (query) => {
    const { search, requests } = recordRequests();
    expect((await search.search(query)).tagSearchResults).toEqual([]);
    expect(requests).toEqual([`/api/spaces/search?q=${query.trim()}`]);
  });

  test.each(['#baking', 'BAKING ', 'c#', 'A/b?c=100%', '日本', '$&'])(
    'finds a tag with any characters: %j',
    async (query) => {
      expect((await recordRequests().search.search(query)).tagSearchResults).toHaveLength(1);
    },
  );

  test('replaces unpaired surrogates with the replacement character', async () => {
    const { search, requests } = recordRequests();
    await search.search('a\ud83dz\ude00😀');
    expect(requests).toContain('/api/spaces/search?q=a%EF%BF%BDz%EF%BF%BD%F0%9F%98%80');
  });

  test('sends the first 200 code points of a longer query, and no tag request', async () => {
    const { search, requests } = recordRequests();
    const beginning = `sourdough ${'😀'.repeat(190)}`;
    expect((await search.search(`${beginning}😀`)).tagSearchResults).toEqual([]);
    expect(requests).toEqual([`/api/spaces/search?q=${encodeURIComponent(beginning)}`]);
  });

  test('trims white space before it measures the query', async () => {
    const { tagSearchResults } = await recordRequests().search.search(`${' '.repeat(200)}baking\n`);
    expect(titles(tagSearchResults)).toEqual(['Sourdough']);
  });

  test('accepts any string', async () => {
    const { search } = recordRequests();
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

describe('the answered query', () => {
  /** Searches and returns the results with the queries that `onAnsweredQuery` received. */
  const searchAndListen = async (search: SearchAPI, query: string, options: SearchOptions = {}) => {
    const answeredQueries: string[] = [];
    const results = await search.search(query, {
      ...options,
      onAnsweredQuery: (answeredQuery) => answeredQueries.push(answeredQuery),
    });
    return { results, answeredQueries };
  };
  const respondWith = (answeredQuery: string) =>
    recordRequests(async (input) =>
      isTagSearch(input)
        ? new Response('[]')
        : new Response('[]', { headers: { 'Answered-Query': answeredQuery } }),
    ).search;

  test('is reported, and its results are general results', async () => {
    const { search } = recordRequests();
    const { results, answeredQueries } = await searchAndListen(search, 'sourdouhg');
    expect(results).toEqual({
      tagSearchResults: [],
      generalSearchResults: [expect.objectContaining({ title: 'Sourdough' })],
    });
    expect(answeredQueries).toEqual(['sourdough']);
  });

  test('is not reported if all results match the query as typed', async () => {
    const { results, answeredQueries } = await searchAndListen(
      recordRequests().search,
      'sourdough',
    );
    expect(titles(results.generalSearchResults)).toEqual(['Sourdough']);
    expect(answeredQueries).toEqual([]);
  });

  test('is not requested with asTyped', async () => {
    const { search, requests } = recordRequests();
    const { results, answeredQueries } = await searchAndListen(search, 'sourdouhg', {
      asTyped: true,
    });
    expect(results).toEqual({ tagSearchResults: [], generalSearchResults: [] });
    expect(answeredQueries).toEqual([]);
    expect(requests.sort()).toEqual([
      '/api/spaces/search?q=sourdouhg&as_typed=true',
      '/api/spaces/tag/sourdouhg',
    ]);
  });

  test('is requested by default, and with asTyped set to false', async () => {
    const { search, requests } = recordRequests();
    for (const options of [{}, { asTyped: false }]) await search.search('tea', options);
    const textSearches = requests.filter((each) => each.includes('/search?'));
    expect(textSearches).toEqual(['/api/spaces/search?q=tea', '/api/spaces/search?q=tea']);
  });

  test('does not require a callback', async () => {
    const { generalSearchResults } = await recordRequests().search.search('sourdouhg');
    expect(titles(generalSearchResults)).toEqual(['Sourdough']);
  });

  test.each([
    ['sour%20dough', 'sour dough'],
    ['100%25', '100%'],
    ['%E6%97%A5%E6%9C%AC', '日本'],
  ])('is percent-decoded: %s', async (header, query) => {
    const { answeredQueries } = await searchAndListen(respondWith(header), 'x');
    expect(answeredQueries).toEqual([query]);
  });

  test.each(['%', 'sour%2', '%E0%A4%A', '%FF', ''])(
    'is not reported if the header is malformed: %j',
    async (header) => {
      const { results, answeredQueries } = await searchAndListen(respondWith(header), 'x');
      expect(results).toEqual({ tagSearchResults: [], generalSearchResults: [] });
      expect(answeredQueries).toEqual([]);
    },
  );

  test('is reported before the search rejects with the results of the text search', async () => {
    const { search } = recordRequests(async (input, init) =>
      isTagSearch(input) ? new Response('', { status: 502 }) : validatingFetch(input, init),
    );
    const answeredQueries: string[] = [];
    const outcome = search.search('sourdouhg', {
      onAnsweredQuery: (query) => answeredQueries.push(query),
    });
    const error = await outcome.catch((error: unknown) => error);
    expect(error).toBeInstanceOf(SearchError);
    expect(titles((error as SearchError).generalSearchResults)).toEqual(['Sourdough']);
    expect(answeredQueries).toEqual(['sourdough']);
  });

  test('rejects the search with the error that the callback throws', async () => {
    const error = new Error('thrown by the callback');
    const outcome = recordRequests().search.search('sourdouhg', {
      onAnsweredQuery: () => {
        throw error;
      },
    });
    await expect(outcome).rejects.toBe(error);
  });

  test('is not reported after an abort', async () => {
    const controller = new AbortController();
    const { search } = recordRequests(async (input) => {
      if (!isTagSearch(input)) {
        return new Response('[]', { headers: { 'Answered-Query': 'sourdough' } });
      }
      controller.abort('query changed');
      throw controller.signal.reason;
    });
    const answeredQueries: string[] = [];
    const outcome = search.search('x', {
      signal: controller.signal,
      onAnsweredQuery: (query) => answeredQueries.push(query),
    });
    await expect(outcome).rejects.toBe('query changed');
    expect(answeredQueries).toEqual([]);
  });
});

describe('a failed request', () => {
  const failing = (
    shouldFail: (input: unknown) => boolean,
    fail: () => Response | Promise<Response>,
  ) =>
    recordRequests(async (input, init) =>
      shouldFail(input) ? fail() : validatingFetch(input, init),
    ).search;
  const errorOf = async (search: SearchAPI, query = 'baking') => {
    const error = await search.search(query).then(
      () => null,
      (error: unknown) => error,
    );
    expect(error).toBeInstanceOf(SearchError);
    return error as SearchError;
  };

  test('rejects with the results of the text search if the tag search fails', async () => {
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
    expect(error.message).toBe('No response: reset');
  });

  test('rejects with the results of the tag search if the text search fails', async () => {
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

  test('rejects with both errors if both searches fail', async () => {
    await using busy = await startApp({ RATE_LIMITS: 'on', PUBLIC_RATE_LIMIT: '2' });
    const fetch = busy.client().getConfig().fetch as typeof globalThis.fetch;
    const search = new SearchAPI({ baseUrl: busy.url, fetch });
    await search.search('baking');
    const error = await errorOf(search);
    expect(error).toMatchObject({ tagSearchResults: null, generalSearchResults: null });
    for (const each of [error.tagSearchError, error.generalSearchError]) {
      expect(each).toMatchObject({ status: 429, problem: { code: 'too_many_requests' } });
      expect(each?.retryAfter).toBeGreaterThan(0);
    }
  });

  test.each(['127.0.0.1', 'localhost'])('says why %s cannot be reached', async (host) => {
    const port = await freePort();
    const error = await errorOf(new SearchAPI({ baseUrl: `http://${host}:${port}` }));
    expect(error.message).toMatch(/^No response: fetch failed \(connect ECONNREFUSED \S+\)$/);
    expect(error.message).toContain(`:${port})`);
  });

  test.each([
    ['an HTML page', '<h1>Sign in to the network</h1>'],
    ['an empty body', ''],
    ['an object', '{"results":[]}'],
    ['null', 'null'],
  ])('rejects a 200 with %s', async (_, body) => {
    const error = await errorOf(failing(isTagSearch, () => new Response(body)));
    expect(error.tagSearchError).toMatchObject({ status: 200, problem: null });
    expect(titles(error.generalSearchResults)).toEqual(['Baking for two']);
  });
});

describe('the signal', () => {
  test('aborts both requests and rejects with its reason', async () => {
    const controller = new AbortController();
    const reason = new Error('query changed');
    const signals: AbortSignal[] = [];
    const { search } = recordRequests((input, init) => {
      signals.push((input as Request).signal);
      if (signals.length === 2) controller.abort(reason);
      return fetch(input, init);
    });
    await expect(search.search('baking', { signal: controller.signal })).rejects.toBe(reason);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
  });

  test('rejects with its reason even if one request failed before', async () => {
    const controller = new AbortController();
    const { search } = recordRequests(async (input, init) => {
      if (isTagSearch(input)) return new Response('', { status: 500 });
      controller.abort();
      return fetch(input, init);
    });
    await expect(search.search('baking', { signal: controller.signal })).rejects.toMatchObject({
      name: 'AbortError',
    });
  });

  test('sends no request if it is already aborted', async () => {
    const { search } = recordRequests(fetch);
    let requests = 0;
    app.app.server.on('request', () => (requests += 1));
    await expect(search.search('baking', { signal: AbortSignal.abort('no') })).rejects.toBe('no');
    expect(requests).toBe(0);
  });

  test('rejects with an AbortError if it has no reason', async () => {
    const { search } = recordRequests(() => Promise.reject(new Error('aborted')));
    const { signal } = new AbortController();
    Object.defineProperties(signal, { aborted: { value: true }, reason: { value: undefined } });
    await expect(search.search('baking', { signal })).rejects.toMatchObject({ name: 'AbortError' });
  });
});

describe('the pages of a search', () => {
  const collect = async (lists: AsyncIterable<{ title: string }[]>) => {
    const all = [];
    for await (const list of lists) all.push(titles(list));
    return all;
  };

  test('follow its first page, with the results of the same query', async () => {
    const { client } = await app.register();
    for (const title of ['Rye one', 'Rye two', 'Rye three']) {
      const body = { title, description: '', visibility: 'public', tags: ['rye'] } as const;
      await api.createSpace({ client, body: { ...body, tags: ['rye'] }, throwOnError: true });
    }
    const { search } = recordRequests();
    const first = await search.search('rye', { limit: 2 });
    expect(titles(first.tagSearchResults)).toEqual(['Rye three', 'Rye two']);
    expect(titles(first.generalSearchResults)).toEqual(['Rye three', 'Rye two']);
    const pages = [['Rye three', 'Rye two'], ['Rye one']];
    expect(await collect(search.tagPages(' rye ', { limit: 2 }))).toEqual(pages);
    expect(await collect(search.generalPages('rye', { limit: 2, asTyped: true }))).toEqual(pages);
  });

  test('are none for a blank query, without a request', async () => {
    const { search, requests } = recordRequests();
    expect(await collect(search.tagPages(' '))).toEqual([]);
    expect(await collect(search.tagPages('..'))).toEqual([]);
    expect(await collect(search.generalPages(' '))).toEqual([]);
    expect(requests).toEqual([]);
  });
});
