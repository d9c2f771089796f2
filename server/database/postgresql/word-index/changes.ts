import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../../engine.ts';
import type { IndexedDocument } from '../../word-index.ts';
import { changeLists } from './change-blocks.ts';
import { listChangesOf, type MarkedDocument, markDocument } from './list-changes.ts';
import { isTitleWord, type MarkedWord, type Term, wordTerm } from './terms.ts';

// The postings of one document are in dozens of blocks. So added and removed documents are collected in the table
// `word_changes` and merged into the blocks together. Searches read the whole table.
//
// Serializable transactions that change the same block conflict, and one of them is rolled back.

/** If there are more changes, they are merged. A higher number makes searches slower and a merge longer. */
const MAX_CHANGES = 16;

export async function addDocuments(
  db: Database,
  documents: readonly IndexedDocument[],
): Promise<void> {
  const marked = documents.map(markDocument);
  if (marked.length > MAX_CHANGES) {
    await changeBlocks(db, marked, []);
    return;
  }
  await sql`
    INSERT INTO word_changes (key, added) SELECT key, words FROM ${unnestDocuments(marked)}
    ON CONFLICT (key) DO UPDATE SET added = excluded.added`.execute(db);
  await mergeIfMany(db);
}

export async function removeDocuments(
  db: Database,
  documents: readonly IndexedDocument[],
): Promise<void> {
  const marked = documents.map(markDocument);
  if (marked.length > MAX_CHANGES) {
    await changeBlocks(db, [], marked);
    return;
  }
  // A document that was added after the last merge is not in the blocks.
  await sql`
    WITH unmerged AS (
      DELETE FROM word_changes
      WHERE removed IS NULL AND key = ANY(${documents.map(({ key }) => key)}::bigint[]) RETURNING key
    )
    INSERT INTO word_changes (key, removed)
    SELECT key, words FROM ${unnestDocuments(marked)} WHERE key NOT IN (SELECT key FROM unmerged)
    ON CONFLICT (key) DO UPDATE SET added = NULL`.execute(db);
  await mergeIfMany(db);
}

/** Writes changes directly into the blocks, after merging the collected changes. */
async function changeBlocks(
  db: Database,
  added: readonly MarkedDocument[],
  removed: readonly MarkedDocument[],
): Promise<void> {
  await mergeChanges(db);
  await changeLists(db, listChangesOf(added, removed));
}

function unnestDocuments(documents: readonly MarkedDocument[]): RawBuilder<unknown> {
  return sql`unnest(${documents.map(({ key }) => key)}::bigint[],
    ${documents.map(({ words }) => words.join(' '))}::text[]) AS documents (key, words)`;
}

async function mergeIfMany(db: Database): Promise<void> {
  const { rows } = await sql<{ count: number }>`
    SELECT count(*) AS count FROM word_changes`.execute(db);
  if ((rows[0]?.count as number) > MAX_CHANGES) await mergeChanges(db);
}

interface ChangeRow {
  key: number;
  /** The words of the document in the blocks; null if it is not in the blocks. */
  removed: string | null;
  /** The words that the document has now; null if it was removed. */
  added: string | null;
}

/** Moves all changes into the blocks. */
export async function mergeChanges(db: Database): Promise<void> {
  const { rows } = await sql<ChangeRow>`
    DELETE FROM word_changes RETURNING key, removed, added`.execute(db);
  const documentsWith = (column: 'added' | 'removed') =>
    rows.flatMap((row) =>
      row[column] === null ? [] : { key: row.key, words: split(row[column]) },
    );
  await changeLists(db, listChangesOf(documentsWith('added'), documentsWith('removed')));
}

/** Returns by how much the unmerged changes increase the number of documents of each word of scope `all`. */
export async function readCountDeltas(db: Database): Promise<Map<Term, number>> {
  const { rows } = await sql<ChangeRow>`SELECT key, removed, added FROM word_changes`.execute(db);
  const deltas = new Map<Term, number>();
  const count = (words: string | null, by: number) => {
    for (const word of words === null ? [] : split(words)) {
      if (isTitleWord(word)) continue;
      const term = wordTerm(word);
      deltas.set(term, (deltas.get(term) ?? 0) + by);
    }
  };
  for (const { removed, added } of rows) {
    count(removed, -1);
    count(added, 1);
  }
  return deltas;
}

function split(words: string): MarkedWord[] {
  return words.split(' ');
}
