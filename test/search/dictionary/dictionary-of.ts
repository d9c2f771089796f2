import { buildTrie } from '../../../server/search/dictionary/build-trie.ts';
import type { Dictionary } from '../../../server/search/dictionary/dictionary.ts';

/** Builds a dictionary from the number of spaces with each word. */
export async function dictionaryOf(
  documents: Readonly<Record<string, number>>,
  { minDocuments = 1, spaces = 1_000_000 }: Partial<Dictionary> = {},
): Promise<Dictionary> {
  const terms = Object.entries(documents)
    .map(([term, count]) => ({ term, documents: count }))
    .sort((a, b) => (a.term < b.term ? -1 : 1));
  return { version: 1, spaces, minDocuments, trie: await buildTrie(terms, minDocuments) };
}
