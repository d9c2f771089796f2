import type { Database, Engine, IndexEngine } from '../../database/engine.ts';
import { readSnapshot, transact } from '../../database/transaction.ts';
import type { TermStatistics } from '../../database/word-index.ts';
import { indexWords } from '../../text/words/tokenize.ts';
import { readFragments } from '../results.ts';
import { buildTrie } from './build-trie.ts';
import { findNode, type Trie, trieFromBytes, trieToBytes } from './trie.ts';

/**
 * The words that several public spaces share, with the number of spaces for each. Also has the other terms of the word
 * index. Used to correct queries and to estimate their cost. It can be up to two minutes older than the word index.
 */
export interface Dictionary {
  /** Changes when the content does. */
  version: number;
  /** Number of public spaces. */
  spaces: number;
  /** Words in fewer spaces are missing, unless a popular space has them in its title. */
  minDocuments: number;
  trie: Trie;
}

/** Returns the number of spaces with this word; 0 if the dictionary lacks it. */
export function documentsWith({ trie }: Dictionary, word: string): number {
  const node = findNode(trie, word);
  return node === undefined ? 0 : (trie.documents[node] as number);
}

/**
 * Estimates how many spaces have a word with this prefix. Counts a space once for each such word. Does not count spaces
 * that were added after the dictionary was built.
 */
export function documentsWithPrefix({ trie }: Dictionary, prefix: string): number {
  const node = findNode(trie, prefix);
  return node === undefined ? 0 : (trie.total[node] as number);
}

/** Returns what the word index must know to estimate the cost of a query. */
export function statisticsOf(dictionary: Dictionary): TermStatistics {
  return {
    documents: dictionary.spaces,
    documentsWith(term, isPrefix) {
      const count = isPrefix ? documentsWithPrefix : documentsWith;
      return Math.max(count(dictionary, term), dictionary.minDocuments);
    },
  };
}

// A word in more spaces than both has many matches.
const MANY_SPACES = 1_000;
const MANY_SHARE_OF_SPACES = 1 / 100;

/** Returns whether a word or prefix has enough matches without others, which would take much of the budget. */
export function hasManyMatches(dictionary: Dictionary, prefix: string): boolean {
  const max = Math.max(MANY_SPACES, dictionary.spaces * MANY_SHARE_OF_SPACES);
  return documentsWithPrefix(dictionary, prefix) > max;
}

/** Reads the current dictionary. */
export async function readDictionary({ db }: Pick<Engine, 'db'>): Promise<Dictionary> {
  const row = await db
    .selectFrom('dictionary')
    .select(['version', 'spaces', 'min_documents', 'trie'])
    .executeTakeFirstOrThrow();
  return {
    version: row.version,
    spaces: row.spaces,
    minDocuments: row.min_documents,
    trie: trieFromBytes(row.trie),
  };
}

/**
 * Replaces the dictionary if the search revision has changed since it was built. Does nothing while the word index has
 * words of deleted spaces, because their removal does not change the revision again. A later call then replaces it.
 * If another server rebuilds the search index meanwhile, starts again.
 * @returns false if such words have prevented it
 */
export async function refreshDictionary(engine: IndexEngine): Promise<boolean> {
  const built = await readSnapshot(engine.db, async (snapshot) => {
    const { value, built_revision, index_version } = await snapshot
      .selectFrom(['search_revision', 'dictionary', 'search_index'])
      .select(['value', 'built_revision', 'search_index.version as index_version'])
      .executeTakeFirstOrThrow();
    if (value <= built_revision) return 'current';
    if (await hasDeletedWords(snapshot)) return 'prevented';
    return { revision: value, index_version, ...(await build(engine, snapshot)) };
  });
  if (typeof built === 'string') return built === 'current';
  const { revision, index_version, spaces, minDocuments, trie } = built;
  const isRebuilt = await transact(engine, async (trx) => {
    const current = await trx
      .selectFrom(['dictionary', 'search_index'])
      .select(['trie', 'built_revision', 'search_index.version as index_version'])
      .executeTakeFirstOrThrow();
    // Another process was faster. Its dictionary is as new, or newer.
    if (current.built_revision >= revision) return false;
    // A rebuild truncates the word index, which is then empty for older snapshots, too.
    if (current.index_version !== index_version) return true;
    if (trie.equals(current.trie)) {
      await trx.updateTable('dictionary').set({ built_revision: revision }).execute();
      return false;
    }
    await trx
      .updateTable('dictionary')
      .set(({ eb }) => ({
        version: eb('version', '+', 1),
        // Changing the version increases the revision, by a trigger.
        built_revision: revision + 1,
        spaces,
        min_documents: minDocuments,
        trie,
      }))
      .execute();
    return false;
  });
  return isRebuilt ? refreshDictionary(engine) : true;
}

/**
 * Builds the dictionary if there has never been one. An outdated one is left to maintenance, because replacing it takes
 * long and needs much memory.
 */
export async function ensureDictionary(engine: IndexEngine): Promise<void> {
  const { built_revision } = await engine.db
    .selectFrom('dictionary')
    .select('built_revision')
    .executeTakeFirstOrThrow();
  if (built_revision === 0) await refreshDictionary(engine);
}

async function hasDeletedWords(snapshot: Database): Promise<boolean> {
  const row = await snapshot
    .selectFrom('erased_spaces')
    .select('space_pk')
    .where('key', 'is not', null)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

async function build(engine: IndexEngine, snapshot: Database) {
  const { spaces } = await snapshot
    .selectFrom('public_spaces')
    .select(({ fn }) => fn.countAll<number>().as('spaces'))
    .executeTakeFirstOrThrow();
  const minDocuments = minDocumentsOf(spaces);
  const popular = await readPopularTitleWords(snapshot, spaces);
  const terms = engine.wordIndex.terms(snapshot);
  const trie = await buildTrie(terms, minDocuments, (term) => popular.has(term));
  return { spaces, minDocuments, trie: trieToBytes(trie) };
}

/** A word in only one of a million spaces may well be a typo. Among a few hundred spaces, every word counts. */
function minDocumentsOf(spaces: number): number {
  return Math.max(1, Math.floor(Math.log10(Math.max(1, spaces))) - 1);
}

// The dictionary has all words in the titles of the most popular spaces: this share of all spaces, up to a maximum.
const POPULAR_SHARE = 0.1;
const MAX_POPULAR_SPACES = 10_000;

async function readPopularTitleWords(snapshot: Database, spaces: number): Promise<Set<string>> {
  const rows = snapshot
    .selectFrom('public_spaces')
    .select(['head', 'tail'])
    .orderBy('key')
    .limit(Math.min(MAX_POPULAR_SPACES, Math.ceil(spaces * POPULAR_SHARE)))
    .stream();
  const words = new Set<string>();
  for await (const row of rows) {
    for (const word of indexWords(readFragments(row).title)) words.add(word);
  }
  return words;
}
