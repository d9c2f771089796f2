import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../../engine.ts';
import type { IndexedDocument } from '../../word-index.ts';
import { changeLists } from './change-blocks.ts';
import { listChangesOf, type MarkedDocument, markDocument } from './list-changes.ts';
import { isTitleWord, type MarkedWord, type Term, wordTerm } from './terms.ts';

// The postings of one document are in dozens of blocks. So added and removed documents are collected in the table
// `word_changes` and merged into the blocks together. Searches read the whole table.
//
// A row of `word_changes` overrides the blocks for its key. So a merge does not change what the index contains, and can
// run while other transactions change the index. A transaction that changes a key during its merge waits for the merge.
// If it then updates or deletes the row, it fails and runs again. If it inserts a new row, it continues: the row is
// correct, because the blocks contain the words that the merged row added.

/**
 * If there are more changes, maintenance merges them. A higher number makes searches slower. A call with more documents
 * changes the blocks directly.
 */
export const MAX_CHANGES = 16;

/**
 * If there are more changes, the transaction that adds them merges them, because maintenance is late or does not run.
 * Other changes of the index wait meanwhile. With 128 changes, a search of the index took 1.7 times as long as with 64.
 */
export const MAX_UNMAINTAINED_CHANGES = 64;

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

/** Writes changes directly into the blocks, after merging all collected changes, which can have the same keys. */
async function changeBlocks(
  db: Database,
  added: readonly MarkedDocument[],
  removed: readonly MarkedDocument[],
): Promise<void> {
  await mergeAllChanges(db);
  await changeLists(db, listChangesOf(added, removed));
}

function unnestDocuments(documents: readonly MarkedDocument[]): RawBuilder<unknown> {
  return sql`unnest(${documents.map(({ key }) => key)}::bigint[],
    ${documents.map(({ words }) => words.join(' '))}::text[]) AS documents (key, words)`;
}

async function mergeIfMany(db: Database): Promise<void> {
  const { rows } = await sql<{ count: number }>`
    SELECT count(*) AS count FROM word_changes`.execute(db);
  if ((rows[0]?.count as number) > MAX_UNMAINTAINED_CHANGES) await mergeChanges(db);
}

interface ChangeRow {
  key: number;
  /** The words of the document in the blocks; null if it is not in the blocks. */
  removed: string | null;
  /** The words that the document has now; null if it was removed. */
  added: string | null;
}

/**
 * Moves changes into the blocks. Never waits: skips keys that other transactions are changing, and does nothing while
 * another transaction changes blocks. Fails with a conflict if blocks or changes were merged after the snapshot of its
 * transaction.
 */
export async function mergeChanges(db: Database): Promise<void> {
  if (!(await tryLockBlocks(db))) return;
  const { rows } = await sql<ChangeRow>`
    WITH unlocked AS MATERIALIZED (SELECT key FROM word_changes FOR UPDATE SKIP LOCKED)
    DELETE FROM word_changes USING unlocked WHERE word_changes.key = unlocked.key
    RETURNING word_changes.key, removed, added`.execute(db);
  await mergeRows(db, rows);
}

/** Moves all changes into the blocks. Waits for other transactions that change blocks or the same keys. */
export async function mergeAllChanges(db: Database): Promise<void> {
  await lockBlocks(db);
  const { rows } = await sql<ChangeRow>`
    DELETE FROM word_changes RETURNING key, removed, added`.execute(db);
  await mergeRows(db, rows);
}

/** Removes all documents. */
export async function clearIndex(db: Database): Promise<void> {
  await lockBlocks(db);
  // Truncating both tables could deadlock with readers, which lock them in either order.
  await sql`DELETE FROM word_changes`.execute(db);
  // Also empties the table for older snapshots, so `refreshDictionary` starts again after a rebuild. See
  // https://www.postgresql.org/docs/current/mvcc-caveats.html
  await sql`TRUNCATE word_blocks`.execute(db);
}

// Every transaction that changes blocks first updates the row of `search_index`, so only one at a time changes them. An
// update without a change is necessary: unlike a lock, it fails transactions with an older snapshot, which would change
// outdated blocks. Conflicts of the blocks themselves would not suffice, because two transactions that add the same
// block cause a unique violation.

async function lockBlocks(db: Database): Promise<void> {
  await sql`UPDATE search_index SET version = version`.execute(db);
}

/** @returns false if another transaction has locked the blocks */
async function tryLockBlocks(db: Database): Promise<boolean> {
  const { numAffectedRows } = await sql`
    WITH unlocked AS MATERIALIZED (SELECT version FROM search_index FOR UPDATE SKIP LOCKED)
    UPDATE search_index SET version = unlocked.version FROM unlocked`.execute(db);
  return numAffectedRows === 1n;
}

async function mergeRows(db: Database, rows: readonly ChangeRow[]): Promise<void> {
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
