import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { documentKey, KEYS_PER_STEP, LAST_STEP } from '../../server/search/order.ts';
import { type Slice, slicesAfter, sliceTerm } from '../../server/search/slices.ts';
import { dictionaryOf } from './dictionary/dictionary-of.ts';

const SPACES_PER_BLOCK = 32_768;
const MAX_PREFIXES = 4;

const keyOf = (step: number, spacePk: number) => step * KEYS_PER_STEP + KEYS_PER_STEP - 1 - spacePk;

const step = fc.oneof(
  fc.integer({ min: 0, max: LAST_STEP }),
  fc.constantFrom(9, 10, 38, 39, LAST_STEP),
);
/** Primary keys in up to 40 blocks. The first and last ones of a block are over-represented. */
const spacePk = fc.oneof(
  fc.integer({ min: 1, max: 40 * SPACES_PER_BLOCK - 1 }),
  fc
    .tuple(fc.integer({ min: 1, max: 39 }), fc.constantFrom(-1, 0))
    .map(([block, offset]) => block * SPACES_PER_BLOCK + offset),
);
const key = fc.tuple(step, spacePk).map(([ofStep, pk]) => keyOf(ofStep, pk));

/** Builds a dictionary from the slice terms of some documents, as if all others were added later. */
async function dictionaryWith(keys: readonly number[], documentsOfEach: number) {
  const documents: Record<string, number> = {};
  for (const term of keys.map(sliceTerm)) {
    documents[term] = (documents[term] ?? 0) + documentsOfEach;
  }
  return dictionaryOf(documents);
}

const isInSlice = (term: string, { prefixes }: Slice) =>
  prefixes.some((prefix) => term.startsWith(prefix));

describe('slicesAfter', () => {
  const index = fc.record({
    known: fc.array(key, { maxLength: 40 }),
    unknown: fc.array(key, { maxLength: 40 }),
    documentsOfEach: fc.integer({ min: 1, max: 1_000 }),
    maxDocuments: fc.integer({ min: 1, max: 20_000 }),
    after: fc.oneof(
      fc.constant(-1),
      key,
      step.map((ofStep) => (ofStep + 1) * KEYS_PER_STEP - 1),
      step.map((ofStep) => ofStep * KEYS_PER_STEP),
    ),
  });

  test('covers every later key exactly once and in order, even if the dictionary lacks its block', async () => {
    await fc.assert(
      fc.asyncProperty(index, async ({ known, unknown, documentsOfEach, maxDocuments, after }) => {
        const keys = [...known, ...unknown];
        const maxSpacePk = Math.max(
          0,
          ...keys.map((each) => KEYS_PER_STEP - 1 - (each % KEYS_PER_STEP)),
        );
        const dictionary = await dictionaryWith(known, documentsOfEach);
        const slices = [...slicesAfter(dictionary, after, maxSpacePk, maxDocuments)];

        const bounds = [after, ...slices.map(({ lastKey }) => lastKey)];
        for (const [i, { lastKey }] of slices.entries()) {
          expect(lastKey).toBeGreaterThan(bounds[i] as number);
        }
        expect(slices.map(({ isLast }) => isLast)).toEqual(
          slices.map((_, i) => i === slices.length - 1),
        );
        for (const each of keys.filter((later) => later > after)) {
          const covering = slices.filter((slice) => isInSlice(sliceTerm(each), slice));
          expect(covering).toHaveLength(1);
          const i = slices.indexOf(covering[0] as Slice);
          expect(each).toBeGreaterThan(bounds[i] as number);
          expect(each).toBeLessThanOrEqual(bounds[i + 1] as number);
        }
      }),
      { numRuns: 300 },
    );
  });

  test('limits the prefixes and the size of each slice, unless a single block is larger', async () => {
    await fc.assert(
      fc.asyncProperty(index, async ({ known, documentsOfEach, maxDocuments, after }) => {
        const dictionary = await dictionaryWith(known, documentsOfEach);
        for (const slice of slicesAfter(dictionary, after, 40 * SPACES_PER_BLOCK, maxDocuments)) {
          const documents = known.filter((each) => isInSlice(sliceTerm(each), slice)).length;
          expect(slice.documents).toBe(documents * documentsOfEach);
          expect(slice.prefixes.length).toBeLessThanOrEqual(MAX_PREFIXES);
          if (slice.prefixes.length > 1) expect(slice.documents).toBeLessThanOrEqual(maxDocuments);
          const isBlock = slice.prefixes[0]?.length === sliceTerm(0).length;
          if (!isBlock) expect(slice.documents).toBeLessThanOrEqual(maxDocuments);
        }
      }),
      { numRuns: 300 },
    );
  });

  test('does not divide steps that fit into a slice', async () => {
    const dictionary = await dictionaryWith([keyOf(38, 1), keyOf(20, 2)], 10);
    expect([...slicesAfter(dictionary, -1, 2, 20)].flatMap(({ prefixes }) => prefixes)).toEqual([
      ...['#0', '#1', '#2', '#3', '#4'],
    ]);
  });

  test('divides only steps that are too large, into blocks, newest first', async () => {
    const keys = [1, SPACES_PER_BLOCK, 2 * SPACES_PER_BLOCK].map((pk) => keyOf(38, pk));
    const dictionary = await dictionaryWith(keys, 10);
    const slices = [...slicesAfter(dictionary, keyOf(37, 0), 2 * SPACES_PER_BLOCK, 10)];
    const blocks = keys.map(sliceTerm).reverse();
    expect(slices.map(({ prefixes }) => prefixes)).toEqual([
      [blocks[0]],
      [blocks[1]],
      [blocks[2], '#39', '#4'],
    ]);
  });

  test('puts all spaces after the billionth into one block', async () => {
    const keys = [2 ** 30 - 1, 2 ** 30, 2 ** 31, 2 ** 32 - 1].map((pk) => keyOf(38, pk));
    expect(new Set(keys.map(sliceTerm)).size).toBe(1);
    const dictionary = await dictionaryWith(keys, 10);
    const slices = [...slicesAfter(dictionary, keyOf(37, 0), 2 ** 32 - 1, 10)];
    const last = slices.find((slice) => isInSlice(sliceTerm(keyOf(38, 2 ** 30)), slice));
    for (const each of keys) {
      expect(isInSlice(sliceTerm(each), last as Slice)).toBe(true);
      expect(each).toBeLessThanOrEqual(last?.lastKey as number);
    }
  });
});

describe('sliceTerm', () => {
  test('starts with a character that does not start a word, and has a fixed length', () => {
    expect(sliceTerm(documentKey(1, 1))).toBe('#38vvv');
    expect(sliceTerm(documentKey(SPACES_PER_BLOCK, 1))).toBe('#38vvu');
    expect(sliceTerm(documentKey(1, 1_000_000))).toBe('#01vvv');
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
