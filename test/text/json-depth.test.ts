import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isTooDeep } from '../../server/text/json-depth.ts';

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

test('isTooDeep is true for exactly the JSON texts that are nested more than eight levels', () => {
  const text = fc.string({ unit: fc.constantFrom('"', '\\', '[', '{', ']', '}', 'é') });
  const wrap = fc.constantFrom(
    (inner: unknown) => [inner],
    (inner: unknown) => [{}, inner, []],
    (inner: unknown) => ({ '"[': inner, ']}': 1 }),
  );
  const value = fc
    .tuple(text, fc.array(wrap, { maxLength: 12 }))
    .map(([leaf, wraps]) => wraps.reduce((inner: unknown, each) => each(inner), leaf));
  const outcomes = new Set<boolean>();
  fc.assert(
    fc.property(value, (each) => {
      const isDeep = depthOf(each) > 8;
      outcomes.add(isDeep);
      expect(isTooDeep(Buffer.from(JSON.stringify(each)))).toBe(isDeep);
    }),
  );
  expect(outcomes).toEqual(new Set([true, false]));
});
