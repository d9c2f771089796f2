import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { DictionaryRefresh } from '../../server/database/maintenance/dictionary-refresh.ts';

test.each([
  ['a refresh', async () => true],
  [
    'a failed refresh',
    async () => {
      throw new Error('The disk is full.');
    },
  ],
])('DictionaryRefresh pauses after %s', async (_, end) => {
  const refresh = new DictionaryRefresh(async () => {
    await sleep(50);
    return end();
  });
  expect(refresh.isPausing).toBe(false);
  await refresh.run().catch(() => {});
  expect(refresh.isPausing).toBe(true);
});
