import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { sliceAround, sliceTerm } from '../../../server/database/sqlite/word-index/slices.ts';
import type { TermStatistics } from '../../../server/database/word-index.ts';
import { documentKey, MAX_KEY } from '../../../server/search/order.ts';

const MIN_KEYS = 16_384;

const key = fc.oneof(
  fc.integer({ min: 0, max: MAX_KEY }),
  fc.integer({ min: 0, max: Math.floor(MAX_KEY / MIN_KEYS) }).map((slice) => slice * MIN_KEYS),
  fc.integer({ min: 1, max: Math.floor(MAX_KEY / MIN_KEYS) }).map((slice) => slice * MIN_KEYS - 1),
  // Neighbours, as most keys are.
  fc
    .tuple(fc.integer({ min: 1, max: 1_000_000 }), fc.constantFrom(1, 2, 100))
    .map(([pk, participants]) => documentKey(pk, participants)),
);

/** As if each of these documents existed several times, and all others were newer than the statistics. */
function statisticsOf(keys: readonly number[], documentsOfEach: number): TermStatistics {
  const terms = keys.map(sliceTerm);
  return {
    documents: terms.length * documentsOfEach,
    documentsWith: (prefix) =>
      terms.filter((term) => term.startsWith(prefix)).length * documentsOfEach,
  };
}

const index = fc.record({
  known: fc.array(key, { maxLength: 40 }),
  unknown: fc.array(key, { maxLength: 40 }),
  documentsOfEach: fc.integer({ min: 1, max: 1_000 }),
  maxDocuments: fc.integer({ min: 1, max: 20_000 }),
});

describe('sliceAround', () => {
  test('has exactly the documents up to its last key that no slice of a smaller key has', () => {
    fc.assert(
      fc.property(index, ({ known, unknown, documentsOfEach, maxDocuments }) => {
        const statistics = statisticsOf(known, documentsOfEach);
        let rest = [...known, ...unknown].sort((a, b) => a - b);
        for (let first = rest[0]; first !== undefined; first = rest[0]) {
          const { prefix, lastKey } = sliceAround(first, maxDocuments, statistics);
          const inSlice = rest.filter((each) => sliceTerm(each).startsWith(prefix));
          expect(inSlice).toEqual(rest.filter((each) => each <= lastKey));
          expect(inSlice).toContain(first);
          rest = rest.slice(inSlice.length);
        }
      }),
      { numRuns: 300 },
    );
  });

  test('is the largest slice with at most this many documents, or the smallest one', () => {
    fc.assert(
      fc.property(index, key, ({ known, documentsOfEach, maxDocuments }, around) => {
        const statistics = statisticsOf(known, documentsOfEach);
        const { prefix, documents } = sliceAround(around, maxDocuments, statistics);
        expect(documents).toBe(statistics.documentsWith(prefix, true));
        const isSmallest = prefix === sliceTerm(around);
        if (!isSmallest) expect(documents).toBeLessThanOrEqual(maxDocuments);
        const isLargest = prefix.length === 1;
        const larger = prefix.slice(0, -1);
        if (!isLargest) {
          expect(statistics.documentsWith(larger, true)).toBeGreaterThan(maxDocuments);
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe('sliceTerm', () => {
  test('starts with a character that does not start a word, and has a fixed length', () => {
    expect(sliceTerm(0)).toBe('#00000000');
    expect(sliceTerm(MIN_KEYS)).toBe('#00000001');
    expect(sliceTerm(MAX_KEY)).toBe('#50777777');
  });

  test('sorts like the keys', () => {
    fc.assert(
      fc.property(key, key, (left, right) => {
        const [low, high] = [Math.min(left, right), Math.max(left, right)];
        expect(sliceTerm(low) <= sliceTerm(high)).toBe(true);
      }),
    );
  });
});
