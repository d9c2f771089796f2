import fc from 'fast-check';
import { expect, test } from 'vitest';
import { buildTrie } from '../../../server/search/dictionary/build-trie.ts';
import {
  findNode,
  type Trie,
  trieFromBytes,
  trieToBytes,
} from '../../../server/search/dictionary/trie.ts';

const words = fc.uniqueArray(
  fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'é', '東'), minLength: 1, maxLength: 6 }),
);
const wordsWithCounts = words.chain((terms) =>
  fc
    .array(fc.integer({ min: 1, max: 5 }), { minLength: terms.length, maxLength: terms.length })
    .map((counts) => terms.sort().map((term, i) => ({ term, documents: counts[i] as number }))),
);

function countsOf(trie: Trie, text: string) {
  const node = findNode(trie, text);
  return node === undefined
    ? undefined
    : { documents: trie.documents[node], total: trie.total[node] };
}

test('stores the count of each word and the total of all words with that prefix', async () => {
  await fc.assert(
    fc.asyncProperty(wordsWithCounts, async (terms) => {
      const trie = await buildTrie(terms, 1);
      for (const { term, documents } of terms) {
        const total = terms
          .filter((each) => each.term.startsWith(term))
          .reduce((sum, each) => sum + each.documents, 0);
        expect(countsOf(trie, term)).toEqual({ documents, total });
        expect(countsOf(trie, `${term}x`)).toBeUndefined();
      }
    }),
  );
});

test('prunes rare words but keeps their counts in the totals of the remaining prefixes', async () => {
  await fc.assert(
    fc.asyncProperty(
      wordsWithCounts,
      fc.integer({ min: 2, max: 8 }),
      async (terms, minDocuments) => {
        const trie = await buildTrie(terms, minDocuments);
        const prefixes = new Set(
          terms.flatMap(({ term }) => [...term].map((_, i) => [...term].slice(0, i + 1).join(''))),
        );
        for (const prefix of prefixes) {
          const total = terms
            .filter((each) => each.term.startsWith(prefix))
            .reduce((sum, each) => sum + each.documents, 0);
          const documents = terms.find(({ term }) => term === prefix)?.documents ?? 0;
          const expected =
            total < minDocuments
              ? undefined
              : { total, documents: documents < minDocuments ? 0 : documents };
          expect(countsOf(trie, prefix)).toEqual(expected);
        }
      },
    ),
  );
});

test('never prunes exempt words', async () => {
  const terms = [
    { term: 'rare', documents: 1 },
    { term: 'rarely', documents: 1 },
  ];
  const trie = await buildTrie(terms, 10, (term) => term === 'rare');
  expect(countsOf(trie, 'rare')).toEqual({ documents: 1, total: 2 });
  expect(countsOf(trie, 'rarely')).toBeUndefined();
});

test('is unchanged after conversion to bytes and back', async () => {
  await fc.assert(
    fc.asyncProperty(wordsWithCounts, async (terms) => {
      const trie = await buildTrie(terms, 2);
      expect(trieFromBytes(trieToBytes(trie))).toEqual(trie);
    }),
  );
});

test('reads bytes at any address', async () => {
  const trie = await buildTrie([{ term: 'bread', documents: 3 }], 1);
  const bytes = trieToBytes(trie);
  for (let offset = 0; offset < 8; offset += 1) {
    const moved = new Uint8Array(offset + bytes.length);
    moved.set(bytes, offset);
    expect(trieFromBytes(moved.subarray(offset))).toEqual(trie);
  }
});

test('has only its root if there are no words', async () => {
  const trie = await buildTrie([], 1);
  expect(trie.unit.length).toBe(1);
  expect(findNode(trie, 'a')).toBeUndefined();
});
