import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  buildTrie,
  findNode,
  type Trie,
  trieFromBytes,
  trieToBytes,
} from '../../../server/search/dictionary/trie.ts';

const words = fc.uniqueArray(
  fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'é', '東'), minLength: 1, maxLength: 6 }),
);
const counted = words.chain((terms) =>
  fc
    .array(fc.integer({ min: 1, max: 5 }), { minLength: terms.length, maxLength: terms.length })
    .map((counts) => terms.sort().map((term, i) => ({ term, documents: counts[i] as number }))),
);

function at(trie: Trie, text: string) {
  const node = findNode(trie, text);
  return node === undefined
    ? undefined
    : { documents: trie.documents[node], total: trie.total[node] };
}

test('counts each word and each beginning', async () => {
  await fc.assert(
    fc.asyncProperty(counted, async (terms) => {
      const trie = await buildTrie(terms, 1);
      for (const { term, documents } of terms) {
        const total = terms
          .filter((each) => each.term.startsWith(term))
          .reduce((sum, each) => sum + each.documents, 0);
        expect(at(trie, term)).toEqual({ documents, total });
        expect(at(trie, `${term}x`)).toBeUndefined();
      }
    }),
  );
});

test('prunes rare words, and keeps their documents in the totals of the beginnings that stay', async () => {
  await fc.assert(
    fc.asyncProperty(counted, fc.integer({ min: 2, max: 8 }), async (terms, minDocuments) => {
      const trie = await buildTrie(terms, minDocuments);
      const beginnings = new Set(
        terms.flatMap(({ term }) => [...term].map((_, i) => [...term].slice(0, i + 1).join(''))),
      );
      for (const beginning of beginnings) {
        const total = terms
          .filter((each) => each.term.startsWith(beginning))
          .reduce((sum, each) => sum + each.documents, 0);
        const documents = terms.find(({ term }) => term === beginning)?.documents ?? 0;
        const expected =
          total < minDocuments
            ? undefined
            : { total, documents: documents < minDocuments ? 0 : documents };
        expect(at(trie, beginning)).toEqual(expected);
      }
    }),
  );
});

test('keeps exempted words however rare they are', async () => {
  const terms = [
    { term: 'rare', documents: 1 },
    { term: 'rarely', documents: 1 },
  ];
  const trie = await buildTrie(terms, 10, (term) => term === 'rare');
  expect(at(trie, 'rare')).toEqual({ documents: 1, total: 2 });
  expect(at(trie, 'rarely')).toBeUndefined();
});

test('is the same after it was stored as bytes', async () => {
  await fc.assert(
    fc.asyncProperty(counted, async (terms) => {
      const trie = await buildTrie(terms, 2);
      expect(trieFromBytes(trieToBytes(trie))).toEqual(trie);
    }),
  );
});

test('holds nothing but its root without words', async () => {
  const trie = await buildTrie([], 1);
  expect(trie.unit.length).toBe(1);
  expect(findNode(trie, 'a')).toBeUndefined();
});
