import { beforeAll, describe, expect, test } from 'vitest';
import {
  ApiError,
  type Client,
  createClient,
  createConfig,
  listMessages,
  listParticipations,
  type Message,
  pages,
  searchSpaces,
  searchSpacesByTag,
} from '../../client/index.ts';
import type { TestUser } from '../support/client.ts';
import { createSpace, sendMessage } from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';

const app = useApp();
let user: TestUser;
let space_id: string;

beforeAll(async () => {
  user = await app.register();
  const space = await createSpace(user);
  space_id = space.space_id;
  for (const text of ['one', 'two', 'three', 'four', 'five']) await sendMessage(user, space, text);
  await createSpace(user);
  await createSpace(user);
});

/** Returns a client that receives results of a search with one made-up item, with a Link header. */
function clientWithLink(link: string, requests: Request[] = []): Client {
  return createClient(
    createConfig({
      baseUrl: 'https://spaces.example.org',
      fetch: async (input) => {
        requests.push(input as Request);
        const isFirst = requests.length === 1;
        return Response.json([requests.length], { headers: isFirst ? { link } : {} });
      },
    }),
  );
}

async function collect<T>(lists: AsyncIterable<T[]>): Promise<T[][]> {
  const all: T[][] = [];
  for await (const page of lists) all.push(page);
  return all;
}

const textsOf = (lists: Message[][]) => lists.map((page) => page.map(({ text }) => text));

describe('pages', () => {
  test('yields every page of a list', async () => {
    const all = await collect(
      pages((cursor) =>
        listMessages({ client: user.client, query: { space_id, limit: 2, cursor } }),
      ),
    );
    expect(textsOf(all)).toEqual([['five', 'four'], ['three', 'two'], ['one']]);
  });

  test('works with both searches, whose cursors are in the Link header, and with participations', async () => {
    const { client } = user;
    for (const title of ['Oats', 'More oats']) await createSpace(user, { title, tags: ['oats'] });
    const byText = pages((cursor) =>
      searchSpaces({ client, query: { q: 'oats', limit: 1, cursor } }),
    );
    const byTag = pages((cursor) =>
      searchSpacesByTag({ client, path: { tag: 'oats' }, query: { limit: 1, cursor } }),
    );
    const joined = pages((cursor) => listParticipations({ client, query: { limit: 2, cursor } }));
    expect((await collect(byText)).flat()).toHaveLength(2);
    expect((await collect(byTag)).flat()).toHaveLength(2);
    expect((await collect(joined)).map((page) => page.length)).toEqual([2, 2, 1]);
  });

  test('requests a page only when it is asked for', async () => {
    const requests: Request[] = [];
    const client = clientWithLink('</api/spaces/search?cursor=abc>; rel="next"', requests);
    const lists = pages((cursor) => searchSpaces({ client, query: { q: 'tea', cursor } }));
    for await (const _ of lists) break;
    expect(requests).toHaveLength(1);
  });

  test('sends requests only to the base URL, wherever the link leads', async () => {
    const requests: Request[] = [];
    const client = clientWithLink('<https://evil.example/x?cursor=abc>; rel="next"', requests);
    const query = { q: 'tea', limit: 3 };
    await collect(pages((cursor) => searchSpaces({ client, query: { ...query, cursor } })));
    expect(requests.map(({ url }) => url)).toEqual([
      'https://spaces.example.org/api/spaces/search?q=tea&limit=3',
      'https://spaces.example.org/api/spaces/search?q=tea&limit=3&cursor=abc',
    ]);
  });

  test.each([
    '',
    '</api/spaces/search?q=tea>; rel="next"',
    '</api/spaces/search?cursor=abc>; rel="prev"',
    '</api/spaces/search?precursor=abc>; rel="next"',
  ])('ends without a cursor of a next page: %s', async (link) => {
    const client = clientWithLink(link);
    const lists = pages((cursor) => searchSpaces({ client, query: { q: 'tea', cursor } }));
    expect(await collect(lists)).toEqual([[1]]);
  });

  test.each([{}, { items: {}, next_cursor: null }, 'items'])(
    'throws an ApiError if the response is no page: %j',
    async (body) => {
      const fetch = async () => Response.json(body);
      const client = createClient(createConfig({ baseUrl: app.url, fetch }));
      const lists = pages((cursor) => listMessages({ client, query: { space_id, cursor } }));
      const error = await collect(lists).catch((cause) => cause);
      expect(error).toBeInstanceOf(ApiError);
      expect(error).toMatchObject({ status: 200, problem: null });
    },
  );

  test('throws an ApiError if a request fails', async () => {
    const query = { space_id: 'unknown' };
    const lists = pages(() => listMessages({ client: user.client, query }));
    const error = await collect(lists).catch((cause) => cause);
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ status: 404, problem: { code: 'space_not_found' } });
  });

  test('throws the reason of an abort between two pages', async () => {
    const controller = new AbortController();
    const query = { space_id, limit: 1 };
    const lists = pages(
      (cursor) => listMessages({ client: user.client, query: { ...query, cursor } }),
      controller.signal,
    );
    expect(textsOf([(await lists.next()).value as Message[]])).toEqual([['five']]);
    controller.abort('enough');
    await expect(lists.next()).rejects.toBe('enough');
  });

  test('throws the reason of an abort during a request', async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const client = createClient(
      createConfig({
        baseUrl: app.url,
        fetch: (input, init) => {
          controller.abort('closed');
          return fetch(input, init);
        },
      }),
    );
    const lists = pages(
      (cursor) => listMessages({ client, query: { space_id, cursor }, signal }),
      signal,
    );
    await expect(collect(lists)).rejects.toBe('closed');
  });

  test('throws an AbortError if the signal has no reason', async () => {
    const { signal } = new AbortController();
    Object.defineProperties(signal, { aborted: { value: true }, reason: { value: undefined } });
    const lists = pages(() => listMessages({ client: user.client, query: { space_id } }), signal);
    await expect(lists.next()).rejects.toMatchObject({ name: 'AbortError' });
  });
});
