import assert from 'node:assert/strict';
import { eraseDeletedRows } from '../../server/account-lifecycle/erasure.ts';
import type { Database, Engine, IndexEngine } from '../../server/database/engine.ts';
import { isLiveSpace } from '../../server/database/erased-rows.ts';
import { transact } from '../../server/database/transaction.ts';
import type { WordScope } from '../../server/database/word-index.ts';
import { FIRST_INDEXED_TIME } from '../../server/message-words/update.ts';
import { indexer } from '../../server/search/document-rows.ts';
import { indexWords } from '../../server/text/words/tokenize.ts';
import { findKeys } from './find-keys.ts';
import { tablesOf } from './tables.ts';

/**
 * Compares counters with the rows that they count, and the search index, except for its dictionary, with a full rebuild
 * from the same rows. There must be no concurrent writes. Finishes deletions of spaces and accounts first.
 * @throws AssertionError
 */
export async function assertConsistent(engine: Engine): Promise<void> {
  await finishErasure(engine);
  await assertCounted(engine.db);
  await assertWordsIndexed(engine.db);
  const { searchIndex } = engine;
  await searchIndex.update();
  const indexed = await readIndex(searchIndex.engine, searchIndex.db);
  const stored = await engine.db.selectFrom('spaces').select('pk').orderBy('pk').execute();
  const pks = stored.map(({ pk }) => pk);
  const spaces = await indexer.readSpaces(engine.db, pks);
  await assert.rejects(
    transact(searchIndex.engine, async (trx) => {
      for (const table of indexTables) await trx.deleteFrom(table).execute();
      await engine.wordIndex.clear(trx);
      await indexer.replaceSpaces(engine, trx, pks, spaces, () => 0);
      assert.deepEqual(indexed, await readIndex(searchIndex.engine, trx));
      throw new RolledBack();
    }),
    RolledBack,
  );
}

/** The tables of the search index, without its dictionary. */
const indexTables = tablesOf('index').filter((table) => table !== 'dictionary');

class RolledBack extends Error {}

/** Deletes all rows of deleted spaces and accounts, like maintenance. */
export async function finishErasure(engine: Engine): Promise<void> {
  while (!(await eraseDeletedRows(engine)));
}

/**
 * Compares counters with the rows that they count, except for deleted spaces. Also checks that each tag has a space.
 * @throws AssertionError
 */
export async function assertCounted(db: Database): Promise<void> {
  const miscounted = await db
    .selectFrom('spaces')
    .select('space_id')
    .where(isLiveSpace('spaces.pk'))
    .where('participant_count', '!=', (from) =>
      from
        .selectFrom('participations')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .whereRef('space_pk', '=', 'spaces.pk')
        .where('left_at', 'is', null),
    )
    .execute();
  assert.deepEqual(miscounted, [], 'spaces with a wrong number of participants');
  const unused = await db
    .selectFrom('tags')
    .select('tag_key')
    .where('tag_id', 'not in', (from) => from.selectFrom('space_tags').select('tag_id'))
    .execute();
  assert.deepEqual(unused, [], 'tags without a space');
}

/**
 * Compares the index of the words of messages with the texts of the indexed messages.
 * @throws AssertionError
 */
export async function assertWordsIndexed(db: Database): Promise<void> {
  const messages = await db
    .selectFrom('messages')
    .innerJoin('indexed_messages as last', 'last.space_pk', 'messages.space_pk')
    .select(['messages.space_pk', 'messages.created_at', 'messages.message_id', 'text'])
    .select(['last.created_at as lastTime', 'last.message_id as lastId'])
    .where('messages.created_at', '>=', FIRST_INDEXED_TIME)
    .whereRef('messages.created_at', '<=', 'last.created_at')
    .execute();
  const keysOf = (rows: typeof messages) =>
    new Set(
      rows.flatMap(({ space_pk, created_at, text }) =>
        indexWords(text).map((word) => `${space_pk} ${word} ${Date.parse(created_at)}`),
      ),
    );
  const indexed = messages.filter(
    ({ created_at, message_id, lastTime, lastId }) => created_at < lastTime || message_id <= lastId,
  );
  const rows = await db.selectFrom('message_words').selectAll().execute();
  const stored = new Set(rows.map((row) => `${row.space_pk} ${row.word} ${row.sent_ms}`));
  const missing = [...keysOf(indexed)].filter((key) => !stored.has(key));
  assert.deepEqual(missing, [], 'missing words of messages');
  // Imported messages at the time of the last indexed one may already have words.
  const present = keysOf(messages);
  const unknown = [...stored].filter((key) => !present.has(key));
  assert.deepEqual(unknown, [], 'words of no message');
}

/** Reads the documents of every term and prefix, and the rows of the other parts of the search index. */
async function readIndex(engine: IndexEngine, db: Database) {
  const documents: Record<string, number[]> = {};
  const read = async (term: string, isPrefix: boolean, scope: WordScope) => {
    const name = `${scope}: ${term}${isPrefix ? '*' : ''}`;
    const query = { pattern: { term, isPrefix }, scope };
    documents[name] ??= await findKeys(engine, db, query, 100_000);
  };
  const terms: { term: string; documents: number }[] = [];
  for await (const term of engine.wordIndex.terms(db)) terms.push(term);
  for (const { term } of terms) {
    for (const scope of ['all', 'title'] as const) {
      await read(term, false, scope);
      const letters = [...term];
      for (const [i] of letters.entries()) {
        await read(letters.slice(0, i + 1).join(''), true, scope);
      }
    }
  }
  const tables: Record<string, string[]> = {};
  for (const table of indexTables) {
    const rows = await db.selectFrom(table).selectAll().execute();
    // The revision depends on the order of earlier changes.
    tables[table] = rows.map((row) => JSON.stringify({ ...row, revision: undefined })).sort();
  }
  return { terms, documents, tables };
}
