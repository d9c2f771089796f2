import { beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { SearchResult, Space, SpaceUpdate } from '../../generated/types.gen.ts';
import type { Position } from '../../server/pagination.ts';
import { searchTag as searchTagAt } from '../../server/search/tag-search.ts';
import { readIndex } from '../../server/search/view.ts';
import type { TestUser } from '../support/client.ts';
import { nextPage } from '../support/pages.ts';
import { head, sendRaw } from '../support/raw.ts';
import { createSpace } from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';

const app = useApp();
let ann: TestUser;

beforeAll(async () => {
  ann = await app.register('ann');
});

const searchTag = async (tag: string) =>
  (await api.searchSpacesByTag({ client: app.client(), path: { tag }, throwOnError: true })).data;

const change = ({ space_id }: Space, body: SpaceUpdate) =>
  api.updateSpace({ client: ann.client, path: { space_id }, body, throwOnError: true });

describe('A tag', () => {
  const names = [
    ...[
      'a/b',
      '100%',
      'c++',
      'C#',
      '.net',
      '🫖',
      '👩🏽‍💻',
      '東京',
      'Zażółć',
      'Ünder  the Sea',
      'ＣＡＰＳ',
    ],
    ...['?q=1&x', '%2F', '..x', 'tea;time', "o'clock", '"quoted"', '\\', 'שלום', 'ไทย', '—'],
  ];
  beforeAll(async () => {
    for (let i = 0; i < names.length; i += 7) {
      await createSpace(ann, { title: `Tags ${i}`, tags: names.slice(i, i + 7) });
    }
  });

  test.each(names)('is found by its name: %s', async (name) => {
    const results = await searchTag(name);
    expect(results).toHaveLength(1);
    const stored = name.replace(/ +/g, ' ');
    expect(results[0]?.tags.map(({ tag_name }) => tag_name)).toContain(stored);
  });

  test.each([
    ['A/B', 'a/b'],
    ['#a/b', 'a/b'],
    ['  A/b ', 'a/b'],
    ['C++', 'c++'],
    ['c#', 'C#'],
    ['#c#', 'C#'],
    ['C♯', 'C#'],
    ['zazolc', 'Zażółć'],
    ['ZAŻÓŁĆ'.normalize('NFD'), 'Zażółć'],
    ['under the sea', 'Ünder  the Sea'],
    ['UNDER\tTHE\u3000SEA', 'Ünder  the Sea'],
    ['caps', 'ＣＡＰＳ'],
    ['👩‍💻', '👩🏽‍💻'],
    ['o’clock', "o'clock"],
  ])('is found by the spelling %s of %s', async (typed, name) => {
    expect(await searchTag(typed)).toEqual(await searchTag(name));
    expect(await searchTag(typed)).toHaveLength(1);
  });

  test.each([
    ['a prefix', 'unde'],
    ['one of its words', 'sea'],
    ['additional words', 'under the sea now'],
    ['other punctuation', 'c--'],
    ['missing punctuation', 'c'],
    ['double percent-encoding', '100%25'],
    ['the words of a title', 'tags'],
    ['a typing error', 'under teh sea'],
    ['300 characters', 'a'.repeat(300)],
    ['1,024 code points, percent-encoded in 12,288 bytes', '🫖'.repeat(1024)],
    ['a wildcard', '%'],
    ['a number', '1'],
    ['NUL', '\0'],
    ['only #', '#'],
    ['a blank', ' '],
  ])('is not found by %s', async (_, name) => {
    expect(await searchTag(name)).toEqual([]);
  });

  test.each(['.', '..', '...', '%2e%2E', '~', '*', '+', '@:!$&()*,;='])(
    'may be the path segment %s',
    async (segment) => {
      const bytes = head('GET', `/api/spaces/tag/${segment}`, { connection: 'close' });
      expect(await sendRaw(app.url, bytes)).toMatchObject({ status: 200, body: '[]' });
    },
  );

  test('is encoded in the link to the next page, even if it was not encoded in the request', async () => {
    for (const _ of [1, 2]) await createSpace(ann, { tags: ['<"a>b|c'] });
    const bytes = head('GET', '/api/spaces/tag/<"a>b|c?limit=1', { connection: 'close' });
    const response = await sendRaw(app.url, bytes);
    const next = nextPage(response as unknown as Response);
    expect(next).toMatch(/^\/api\/spaces\/tag\/%3C%22a%3Eb%7Cc\?/);
    expect(await (await app.fetch(next as string)).json()).toHaveLength(1);
  });

  test('lists every unchanged space, even if one changes while the first page is read', async () => {
    const { context } = app;
    const titles = ['A', 'B', 'C', 'D', 'E', 'F'];
    const created: Space[] = [];
    for (const title of titles) created.push(await createSpace(ann, { title, tags: ['racing'] }));
    await context.engine.searchIndex.update();
    const found: string[] = [];
    let position: Position | undefined;
    do {
      const page = await readIndex(context.engine, async (view) => {
        // Every page reads a snapshot, which this does not change.
        if (!position) await change(created[4] as Space, { title: 'E, edited' });
        return searchTagAt(context, 'racing', { limit: 2, position }, view);
      });
      found.push(...page.items.map((item) => (JSON.parse(item) as SearchResult).title));
      position = page.next ?? undefined;
    } while (position);
    expect(found).toEqual(['F', 'E', 'D', 'C', 'B', 'A']);
  });
});
