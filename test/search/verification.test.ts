import { afterAll, expect, test, vi } from 'vitest';
import { searchText } from '../../server/search/text-search.ts';
import { tokenize } from '../../server/text/words/tokenize.ts';
import { generateIndex, viewed } from './generated-index.ts';

// Files share loaded modules. Reload them with the mock, and without it after this file.
vi.hoisted(() => vi.resetModules());
afterAll(() => void vi.resetModules());
vi.mock(import('../../server/text/words/tokenize.ts'), async (load) => {
  const original = await load();
  return { ...original, tokenize: vi.fn(original.tokenize) };
});

test('Texts that the index cannot decide are split into words once, not for each word of the query', async () => {
  const runs = '東京都 大阪府 北海道 名古屋 九州島 四国島 富士山 琵琶湖 信濃川 関東平 中央線'.split(
    ' ',
  );
  const spaces = Array.from({ length: 40 }, (_, i) => ({
    pk: i + 1,
    title: `Journey ${i}`,
    // Has all bigrams of 京都駅前, but not this run.
    description: `${runs.join(' ')} 京都駅 都駅前`,
    participants: 1,
  }));
  await using index = await generateIndex(spaces);
  vi.mocked(tokenize).mockClear();
  const query = `${runs.join(' ')} 京都駅前`;
  const page = await viewed(index.resources, (view) =>
    searchText(
      index.resources,
      index.dictionary,
      { query, asTyped: true },
      { limit: 20, position: undefined },
      view,
    ),
  );
  expect(page.items).toEqual([]);
  const texts = new Set(vi.mocked(tokenize).mock.calls.map(([text]) => text));
  expect(texts.size).toBeGreaterThan(spaces.length);
  expect(vi.mocked(tokenize).mock.calls.length).toBeLessThan(3 * spaces.length);
});
