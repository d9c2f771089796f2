import type { Database, Engine } from '../../database/engine.ts';
import { readSnapshot, transact } from '../../database/transaction.ts';
import { indexWords } from '../../text/words/tokenize.ts';
import { readFragments } from '../results.ts';
import { buildTrie, findNode, type Trie, trieFromBytes, trieToBytes } from './trie.ts';

/**
 * The words that several public spaces share, with the number of spaces that have each. It decides what a query might
 * have meant and estimates what a query costs. It may be a minute or two older than the word index.
 */
export interface Dictionary {
  /** Changes when the content does. */
  version: number;
  /** Number of public spaces. */
  spaces: number;
  /** Words in fewer spaces are not known, unless a popular title has them. */
  minDocuments: number;
  trie: Trie;
}

/** Returns the number of spaces with this word; 0 if it is not known. */
export function documentsWith({ trie }: Dictionary, word: string): number {
  const node = findNode(trie, word);
  return node === undefined ? 0 : (trie.documents[node] as number);
}

/**
 * Returns about how many spaces have a word with this prefix. Spaces with several such words count several times, and
 * spaces that came since the dictionary was built not at all.
 */
export function documentsWithPrefix({ trie }: Dictionary, prefix: string): number {
  const node = findNode(trie, prefix);
  return node === undefined ? 0 : (trie.total[node] as number);
}

/** Reads the current dictionary. */
export async function readDictionary({ readDb }: Pick<Engine, 'readDb'>): Promise<Dictionary> {
  const row = await readDb
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

/** Builds a new dictionary if anything that search depends on has changed since the current one was built. */
export async function refreshDictionary(engine: Engine): Promise<void> {
  const current = await engine.db
    .selectFrom('dictionary')
    .select(['built_revision', 'trie'])
    .executeTakeFirstOrThrow();
  const built = await readSnapshot(engine.db, async (snapshot) => {
    const { value } = await snapshot
      .selectFrom('search_revision')
      .select('value')
      .executeTakeFirstOrThrow();
    return value > current.built_revision
      ? { revision: value, ...(await build(engine, snapshot)) }
      : undefined;
  });
  if (!built) return;
  const { revision, spaces, minDocuments, trie } = built;
  await transact(engine.db, async (trx) => {
    if (trie.equals(current.trie)) {
      await trx.updateTable('dictionary').set({ built_revision: revision }).execute();
      return;
    }
    await trx
      .updateTable('dictionary')
      .set(({ eb }) => ({
        version: eb('version', '+', 1),
        // A trigger advances the revision with a new version.
        built_revision: revision + 1,
        spaces,
        min_documents: minDocuments,
        trie,
      }))
      .execute();
  });
}

async function build(engine: Engine, snapshot: Database) {
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

/** A word in one of a million spaces is as likely a typo as a word. Among a few hundred spaces, every word counts. */
function minDocumentsOf(spaces: number): number {
  return Math.max(1, Math.floor(Math.log10(Math.max(1, spaces))) - 1);
}

const POPULAR_SHARE = 0.02;
const MAX_POPULAR_SPACES = 10_000;

async function readPopularTitleWords(snapshot: Database, spaces: number): Promise<Set<string>> {
  const rows = await snapshot
    .selectFrom('public_spaces')
    .select(['head', 'tail'])
    .orderBy('key')
    .limit(Math.min(MAX_POPULAR_SPACES, Math.ceil(spaces * POPULAR_SHARE)))
    .execute();
  return new Set(rows.flatMap((row) => indexWords(readFragments(row).title)));
}
