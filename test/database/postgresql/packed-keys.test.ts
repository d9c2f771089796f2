import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
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

  test('need one byte for each consecutive key', () => {
    const neighbours = Array.from({ length: 100 }, (_, i) => 2 ** 37 + i);
    expect(packKeys(neighbours)).toHaveLength(6 + 99);
  });
});
