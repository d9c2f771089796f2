import { expect, test } from 'vitest';
import { KeyList } from '../../../server/database/postgresql/word-index/key-list.ts';
import { wordTerm } from '../../../server/database/postgresql/word-index/terms.ts';

const WHOLE = { upper: 200, keys: [110, 150, 190] };
const MIDDLE = { upper: 160, keys: [150] };

test.each([
  { change: 'split', blocks: [WHOLE, MIDDLE] },
  { change: 'merged', blocks: [MIDDLE, WHOLE] },
])('returns all keys of a range whose block was $change between two reads', ({ blocks }) => {
  const list = new KeyList(wordTerm('tea'));
  for (const block of blocks) list.addNextBlocks(block === WHOLE ? 100 : 140, [block], 1);
  expect(list.firstUnread(100)).toBe(201);
  expect(list.keysBetween(100, 201, 10)).toEqual([110, 150, 190]);
  expect(list.keysBetween(100, 201, 2)).toEqual([110, 150]);
});
