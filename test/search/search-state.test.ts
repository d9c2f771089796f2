import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { openSearchState, type SearchResponse } from '../../server/search/search-state.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

/** Returns the size of the heap without garbage, in MiB. */
function heapMiB(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed / 2 ** 20;
}

/** A position with the alternatives of twelve words. */
const longPosition = (i: number): SearchResponse['next'] => [
  3,
  i,
  i,
  [],
  Array.from({ length: 12 }, (_, word) => ['', '', ''].map((_, form) => `form${word}${form}${i}`)),
];

test.each([
  ['empty responses', () => null],
  ['responses with long positions of the next page', longPosition],
])('The cache of responses stays within its maximum size with many %s', (_, nextOf) => {
  const { responses } = openSearchState();
  const before = heapMiB();
  for (let i = 0; i < 100_000; i += 1) {
    const body = Buffer.allocUnsafeSlow(2);
    responses.set(`["text",{"query":"${i}"},20,null]`, {
      body,
      places: [],
      next: nextOf(i),
      answeredQuery: null,
    });
  }
  const growth = heapMiB() - before;
  // Also keeps the cache alive until the heap has been measured.
  expect(responses.size).toBeGreaterThan(0);
  // `MAX_CACHE_BYTES` in MiB.
  expect(growth).toBeLessThan(24);
});
