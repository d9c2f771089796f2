import { afterAll, beforeAll, expect, test } from 'vitest';
import { updateSearchIndex } from '../../server/search/rebuild.ts';
import { searchTag } from '../../server/search/tag-search.ts';
import { type GeneratedIndex, generateIndex, viewed } from './generated-index.ts';

let index: GeneratedIndex;

beforeAll(async () => {
  const pks = [1, 2, 3, 4, 5];
  index = await generateIndex(
    pks.map((pk) => ({ pk, title: `Space ${pk}`, description: '', participants: 1 })),
  );
});
afterAll(() => index[Symbol.asyncDispose]());

async function spacesWith(tag: string): Promise<string[]> {
  const page = await viewed(index.resources, (view) =>
    searchTag(index.resources, tag, { limit: 100 }, view),
  );
  return page.items.map((item) => JSON.parse(item).space_id);
}

test('Rebuilding an outdated index updates tag keys and merges tags whose keys have become equal', async () => {
  const { db } = index.resources.engine;
  // Keys of an older version, which did not convert traditional Chinese characters to simplified ones.
  const tags = [
    { tag_id: 1, tag_key: '東京', spaces: [1] },
    { tag_id: 2, tag_key: '臺北', spaces: [2, 3] },
    { tag_id: 3, tag_key: '台北', spaces: [3, 4] },
    { tag_id: 4, tag_key: 'tea', spaces: [1, 5] },
  ];
  for (const { tag_id, tag_key, spaces } of tags) {
    await db.insertInto('tags').values({ tag_id, tag_key }).execute();
    for (const space_pk of spaces) {
      const row = { space_pk, tag_id, position: tag_id, tag_name: tag_key };
      await db.insertInto('space_tags').values(row).execute();
    }
  }
  await db.updateTable('search_index').set({ version: 0 }).execute();
  await updateSearchIndex(index.resources.engine);

  for (const tag of ['東京', '东京']) expect([tag, await spacesWith(tag)]).toEqual([tag, ['1']]);
  for (const tag of ['臺北', '台北']) {
    expect([tag, await spacesWith(tag)]).toEqual([tag, ['4', '3', '2']]);
  }
  expect(await spacesWith('tea')).toEqual(['5', '1']);
  expect(await db.selectFrom('tags').selectAll().orderBy('tag_id').execute()).toEqual([
    { tag_id: 1, tag_key: '东京' },
    { tag_id: 3, tag_key: '台北' },
    { tag_id: 4, tag_key: 'tea' },
  ]);
});
