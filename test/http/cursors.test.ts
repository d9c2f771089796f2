import { createSecretKey, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openCursor, sealCursor } from '../../server/http/cursors.ts';
import type { Position } from '../../server/pagination.ts';

const randomKey = () => createSecretKey(randomBytes(32));
const key = randomKey();
const position = fc.array(
  fc.oneof(fc.maxSafeInteger(), fc.string(), fc.array(fc.string())),
) as fc.Arbitrary<Position>;
const invalid = expect.objectContaining({ code: 'invalid_cursor' });

test('opens a cursor sealed for the same list', () => {
  fc.assert(
    fc.property(fc.string(), position, (list, parts) => {
      expect(openCursor(key, list, sealCursor(key, list, parts))).toEqual(parts);
    }),
  );
});

test('seals equal positions to equal cursors', () => {
  expect(sealCursor(key, 'a', [1, 'x'])).toBe(sealCursor(key, 'a', [1, 'x']));
});

test('rejects a cursor for another list or with another key, and any other text', () => {
  const cursor = sealCursor(key, 'searchSpaces q=bread', [1, 2]);
  expect(() => openCursor(key, 'searchSpaces q=cake', cursor)).toThrow(invalid);
  expect(() => openCursor(randomKey(), 'searchSpaces q=bread', cursor)).toThrow(invalid);
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.base64String()), (text) => {
      expect(() => openCursor(key, 'searchSpaces q=bread', text)).toThrow(invalid);
    }),
  );
});

test('rejects a cursor with one character replaced, removed or added', () => {
  const cursor = sealCursor(key, 'list', [5, 'a word']);
  for (let i = 0; i < cursor.length; i += 1) {
    const other = cursor[i] === 'A' ? 'B' : 'A';
    for (const change of [other, '', `${cursor[i]}=`]) {
      const changed = cursor.slice(0, i) + change + cursor.slice(i + 1);
      expect(() => openCursor(key, 'list', changed), changed).toThrow(invalid);
    }
  }
});

test('hides the number of digits of a position', () => {
  const lengths = [0, 9, 1_234, 1_234_567_890, Number.MAX_SAFE_INTEGER].map(
    (pk) => sealCursor(key, 'listMessages', ['2026-11-22T08:06:06.123Z', pk]).length,
  );
  expect(new Set(lengths).size).toBe(1);
});

test('compresses a long position, which would not fit into a URL', () => {
  const long = Array.from({ length: 1_000 }, (_, i) => `similar word ${i}`);
  const cursor = sealCursor(key, 'list', long);
  expect(cursor.length).toBeLessThan(JSON.stringify(long).length / 2);
  expect(openCursor(key, 'list', cursor)).toEqual(long);
});

test('encrypts the position', () => {
  const cursor = sealCursor(key, 'list', [123_456, 'secret']);
  expect(Buffer.from(cursor, 'base64url').toString('latin1')).not.toMatch(/123456|secret/);
});
