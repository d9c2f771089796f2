import { expect, test } from 'vitest';
import { documentsWith } from '../../../server/search/dictionary/dictionary.ts';
import { generateIndex } from '../generated-index.ts';

test('The dictionary has rare words only from the titles of the most popular tenth of all spaces', async () => {
  const spaces = Array.from({ length: 1_000 }, (_, i) => ({
    pk: i + 1,
    title: `title${i}`,
    description: `text${i} shared`,
    participants: i < 100 ? 20 : 1,
  }));
  await using index = await generateIndex(spaces);
  const known = (word: string) => documentsWith(index.dictionary, word) > 0;
  expect(known('shared')).toBe(true);
  expect(spaces.filter((_, i) => known(`title${i}`)).map(({ pk }) => pk)).toEqual(
    spaces.slice(0, 100).map(({ pk }) => pk),
  );
  expect(spaces.filter((_, i) => known(`text${i}`))).toEqual([]);
});
