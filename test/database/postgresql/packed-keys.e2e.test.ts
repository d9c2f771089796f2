import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  changeKeys,
  packKeys,
  unpackKeys,
} from '../../../server/database/postgresql/word-index/packed-keys.ts';

const keys = fc
  .uniqueArray(fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }), { maxLength: 300 })
  .map((numbers) => numbers.sort((a, b) => a - b));

describe('Packed keys', () => {
  test('unpack to the original keys', () => {
    fc.assert(
      fc.property(keys, (numbers) => {
        expect(unpackKeys(packKeys(numbers))).toEqual(numbers);
      }),
    );
  });

  test('change like a set', () => {
    // Few different keys, so that changes concern keys of the list.
    const few = fc
      .uniqueArray(fc.integer({ min: 0, max: 40 }), { maxLength: 30 })
      .map((numbers) => numbers.sort((a, b) => a - b).map((number) => number * 100));
    fc.assert(
      fc.property(few, few, few, (numbers, added, removed) => {
        const kept = numbers.filter((number) => !removed.includes(number));
        const expected = new Set([...kept, ...added]);
        const changed = changeKeys(packKeys(numbers), numbers.length, added, removed);
        expect(unpackKeys(changed.packed)).toEqual([...expected].sort((a, b) => a - b));
        expect(changed.size).toBe(expected.size);
      }),
      { numRuns: 1000 },
    );
  });

  test('need one byte for each consecutive key', () => {
    const neighbours = Array.from({ length: 100 }, (_, i) => 2 ** 37 + i);
    expect(packKeys(neighbours)).toHaveLength(6 + 99);
  });
});
