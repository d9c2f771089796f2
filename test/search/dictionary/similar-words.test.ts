import fc from 'fast-check';
import { expect, test } from 'vitest';
import { buildTrie } from '../../../server/search/dictionary/build-trie.ts';
import { similarWords } from '../../../server/search/dictionary/similar-words.ts';

const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'd'), minLength: 1, maxLength: 7 });

/**
 * Reference implementation of the optimal string alignment distance. Edits of the first letter cost double, except
 * transpositions.
 */
function distanceOf(left: string, right: string): number {
  const cells = Array.from({ length: left.length + 1 }, () =>
    new Array<number>(right.length + 1).fill(0),
  );
  const cell = (i: number, j: number) => cells[i]?.[j] as number;
  for (let i = 0; i <= left.length; i += 1) {
    for (let j = 0; j <= right.length; j += 1) {
      if (i === 0 && j === 0) continue;
      const options: number[] = [];
      if (i > 0) options.push(cell(i - 1, j) + (i === 1 ? 2 : 1));
      if (j > 0) options.push(cell(i, j - 1) + (j === 1 ? 2 : 1));
      if (i > 0 && j > 0) {
        const cost = i === 1 && j === 1 ? 2 : 1;
        options.push(cell(i - 1, j - 1) + (left[i - 1] === right[j - 1] ? 0 : cost));
      }
      if (i > 1 && j > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1]) {
        options.push(cell(i - 2, j - 2) + 1);
      }
      (cells[i] as number[])[j] = Math.min(...options);
    }
  }
  return cell(left.length, right.length);
}

test('finds exactly the nearest words that are frequent enough', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(word),
      word,
      fc.integer({ min: 0, max: 2 }),
      fc.integer({ min: 0, max: 30 }),
      async (words, typed, maxDistance, minTotal) => {
        const terms = words.sort().map((term, i) => ({ term, documents: i + 1 }));
        const trie = await buildTrie(terms, 1);
        const totalOf = (prefix: string) =>
          terms
            .filter(({ term }) => term.startsWith(prefix))
            .reduce((sum, { documents }) => sum + documents, 0);
        const others = terms
          .map(({ term }) => ({
            word: term,
            distance: distanceOf(term, typed),
            total: totalOf(term),
          }))
          .filter(({ distance, total }) => distance > 0 && total >= minTotal);
        const nearest = Math.min(maxDistance, ...others.map(({ distance }) => distance));
        const { found } = similarWords(trie, typed, maxDistance, minTotal, Infinity);
        expect(found).toEqual(others.filter(({ distance }) => distance === nearest));
      },
    ),
    { numRuns: 300 },
  );
});

test('counts an edit of the first letter as two, and a transposition as one', async () => {
  const trie = await buildTrie(
    ['bread', 'dread', 'read'].map((term) => ({ term, documents: 1 })),
    1,
  );
  const distances = (typed: string) =>
    Object.fromEntries(
      similarWords(trie, typed, 2, 0, Infinity).found.map((each) => [each.word, each.distance]),
    );
  expect(distances('bread')).toEqual({ dread: 2, read: 2 });
  expect(distances('braed')).toEqual({ bread: 1 });
  expect(distances('rbead')).toEqual({ bread: 1, read: 1 });
});

test('stops at the maximum number of visited nodes', async () => {
  const terms = ['aaaa', 'aaab', 'aaba', 'abaa', 'baaa'].map((term) => ({ term, documents: 1 }));
  const trie = await buildTrie(terms, 1);
  expect(similarWords(trie, 'aaaa', 1, 0, 5).found.map(({ word: each }) => each)).toEqual(['aaab']);
});
