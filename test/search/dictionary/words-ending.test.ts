import fc from 'fast-check';
import { expect, test } from 'vitest';
import { buildTrie } from '../../../server/search/dictionary/trie.ts';
import { wordsEndingWith } from '../../../server/search/dictionary/words-ending.ts';

// The codes of the last two letters have the same remainder, so they share a bit of `Trie.letters`.
const letter = fc.constantFrom('a', 'b', 'c', 'à', '\u0101');
const word = fc.string({ unit: letter, minLength: 1, maxLength: 8 });

test('finds exactly the words that end with a text, with their counts', async () => {
  const text = fc.string({ unit: letter, minLength: 1, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(word, { maxLength: 30 }), text, async (words, ending) => {
      const terms = words.sort().map((term, i) => ({ term, documents: i + 1 }));
      const trie = await buildTrie(terms, 1);
      const expected = terms
        .filter(({ term }) => term !== ending && term.endsWith(ending))
        .map(({ term, documents }) => ({ word: term, documents }));
      expect(wordsEndingWith(trie, ending, 1_000)).toEqual(expected);
    }),
    { numRuns: 500 },
  );
});

test('stops after a number of nodes', async () => {
  const terms = ['abc', 'bbc', 'cbc'].map((term) => ({ term, documents: 1 }));
  const trie = await buildTrie(terms, 1);
  expect(wordsEndingWith(trie, 'bc', 4)).toEqual([{ word: 'abc', documents: 1 }]);
});
