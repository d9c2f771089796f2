import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import type { SearchResult, Space } from '../../generated/types.gen.ts';
import { operations } from '../../server/contract.ts';
import { startApp } from '../support/app.ts';
import type { TestUser } from '../support/client.ts';
import { createLists } from '../support/lists.ts';
import { readPages } from '../support/pages.ts';
import { head, sendRaw } from '../support/raw.ts';
import { exampleRequest } from '../support/requests.ts';
import { getPage, searchPath, tagPath } from '../support/search-pages.ts';
import { createSpace } from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';

const app = useApp();
let ann: TestUser;

beforeAll(async () => {
  ann = await app.register('ann');
  for (const _ of [1, 2]) await createSpace(ann, { title: 'Zigzag', tags: ['<zig>&?#%zag'] });
});

const ids = (results: Pick<Space, 'space_id'>[]) => results.map(({ space_id }) => space_id);

const get = (path: string) => getPage(app, path);

describe('The link to the next page', () => {
  test('contains the unchanged query, for any characters', async () => {
    const sign = fc.constantFrom(...'&=#%+?;/"<>\\\'!*()[]{}|^`~:@$, \n\0–…');
    await fc.assert(
      fc.asyncProperty(fc.array(sign, { maxLength: 20 }), async (signs) => {
        const q = `zigzag ${signs.join('')}`;
        const { status, next } = await get(searchPath(q, 1));
        expect(status).toBe(200);
        const { pathname, searchParams } = new URL(next ?? '', app.url);
        expect(pathname).toBe('/api/spaces/search');
        expect(searchParams.get('q')).toBe(q);
        expect(searchParams.get('limit')).toBe('1');
        expect([...searchParams.keys()].sort()).toEqual(['cursor', 'limit', 'q']);
        expect((await get(next as string)).body).toHaveLength(1);
      }),
      { numRuns: 60 },
    );
  });

  test('repeats only the parameters of the operation', async () => {
    const unknown = `${'%3C'.repeat(2_000)}=1&utm_source=mail`;
    const link = await get(`${searchPath('zigzag', 1)}&${unknown}&as_typed=true`);
    const { searchParams } = new URL(link.next ?? '', app.url);
    expect([...searchParams.keys()].sort()).toEqual(['as_typed', 'cursor', 'limit', 'q']);
  });

  test('contains the path prefix that a proxy removes', async () => {
    await using behind = await startApp({ PUBLIC_URL: 'https://example.org/rooms/' });
    const user = await behind.register('behind');
    for (const title of ['Zag', 'Zag too']) await createSpace(user, { title });
    const response = await behind.fetch('/api/spaces/search?q=zag&limit=1');
    expect(response.headers.get('link')).toMatch(/^<\/rooms\/api\/spaces\/search\?q=zag/);
    const own = await behind.fetch('/api/participations?limit=1', { headers: user.headers });
    expect(own.headers.get('link')).toMatch(/^<\/rooms\/api\/participations\?/);
  });

  test.each([
    ...['http://evil.example', 'https://evil.example:8443', 'HTTP://evil.example'],
    ...['http://ann@evil.example', 'http://evil.example?', 'http://evil.example#', 'http://'],
    ...['//evil.example', '/\\evil.example', '/.//evil.example', 'evil.example'],
  ])('never leads to another host: %s', async (prefix) => {
    const query = 'q=zigzag&limit=1';
    for (const path of [`/api/spaces/search?${query}`, tagPath('<zig>&?#%zag', 1)]) {
      const request = head('GET', prefix + path, { Host: 'evil.example' });
      const response = await sendRaw(app.url, request);
      expect([200, 400, 404]).toContain(response?.status);
      if (response?.status !== 200) continue;
      const link = response.headers.get('link') ?? '';
      expect(link.startsWith(`<${path.split('?')[0]}?`), link).toBe(true);
    }
  });

  test('is the same for a request target in absolute form', async () => {
    const path = '/api/spaces/search?q=zigzag&limit=1';
    const linkFor = async (target: string) =>
      (await sendRaw(app.url, head('GET', target)))?.headers.get('link');
    expect(await linkFor(`http://evil.example${path}`)).toBe(await linkFor(path));
  });

  test('contains the unchanged tag', async () => {
    const { body, next } = await get(tagPath('<zig>&?#%zag', 1));
    expect(next).toMatch(/^\/api\/spaces\/tag\/%3Czig%3E%26%3F%23%25zag\?limit=1&cursor=/);
    const last = await get(next as string);
    expect(ids([...body, ...last.body])).toHaveLength(2);
    expect(last.next).toBeUndefined();
  });

  test('works without a limit, and replaces the cursor', async () => {
    for (let i = 0; i < 45; i += 1) await createSpace(ann, { title: 'Numerous' });
    const pages = await readPages<SearchResult>(app, '/api/spaces/search?q=numerous');
    expect(pages.map((page) => page.length)).toEqual([20, 20, 5]);
  });
});

describe('next_cursor', () => {
  const lists = operations.filter(({ parameters, responses }) => {
    const schema = responses['200']?.content?.['application/json']?.schema;
    return parameters.some(({ name }) => name === 'cursor') && schema?.type !== 'array';
  });
  let lister: Awaited<ReturnType<typeof createLists>>;

  beforeAll(async () => {
    lister = await createLists(app);
  });

  test('is in the pages of lists', () => {
    expect(lists.map(({ operationId }) => operationId)).toContain('listMessages');
  });

  test.each(lists)('of $operationId is the cursor in Link, and null without Link', async (list) => {
    const { headers, values } = lister;
    const { url } = exampleRequest(list, values);
    const first = `${url}${url.includes('?') ? '&' : '?'}limit=1`;
    let path: string | undefined = first;
    let pages = 0;
    for (; path !== undefined; pages += 1) {
      const { body, next } = await getPage(app, path, { headers });
      const cursor = next && new URL(next, app.url).searchParams.get('cursor');
      expect(body).toMatchObject({ items: [expect.anything()], next_cursor: cursor ?? null });
      path = body.next_cursor === null ? undefined : `${first}&cursor=${body.next_cursor}`;
    }
    expect(pages).toBeGreaterThan(1);
  });
});
