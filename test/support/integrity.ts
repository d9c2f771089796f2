import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { openDatabase } from '../../server/database/open.ts';
import { openSqlite } from '../../server/database/sqlite/engine.ts';
import { refreshDictionary } from '../../server/search/dictionary/dictionary.ts';
import { trieFromBytes } from '../../server/search/dictionary/trie.ts';
import { writerOf } from '../../server/search/writer-of.ts';
import { assertCounted, assertWordsIndexed, finishErasure } from './consistency.ts';
import { columnsOf, tablesOf } from './tables.ts';

export function databaseFile(dataDir: string): string {
  return join(dataDir, 'space-service.sqlite');
}

/** Opens a database, which another process may use at the same time, and closes it afterwards. */
export function withDatabase<T>(file: string, use: (sqlite: Sqlite.Database) => T): T {
  const sqlite = new Sqlite(file, { timeout: 10_000 });
  try {
    return use(sqlite);
  } finally {
    sqlite.close();
  }
}

/**
 * Runs the integrity checks of SQLite and FTS5.
 * @throws AssertionError
 */
export function assertIntact(dataDir: string): void {
  withDatabase(databaseFile(dataDir), (sqlite) => {
    assert.deepEqual(sqlite.pragma('integrity_check'), [{ integrity_check: 'ok' }]);
    assert.deepEqual(sqlite.pragma('foreign_key_check'), []);
    sqlite.exec(`INSERT INTO word_index (word_index, rank) VALUES ('integrity-check', 0)`);
  });
}

/**
 * Compares counters with the rows that they count, and the search indexes with a full rebuild from the same rows.
 * Finishes deletions of spaces and accounts first. The dictionary is compared only if it was built after the last
 * change. Reads the files of SQLite; for both kinds of databases, see `assertConsistent`.
 * @returns the number of rows in each rebuilt index
 * @throws AssertionError
 */
export async function assertIndexed(dataDir: string): Promise<Record<string, number>> {
  {
    await using original = await openDatabase({ dataDir }, { purpose: 'command' });
    await finishErasure(original);
    await assertWordsIndexed(original.db);
  }
  const folder = await mkdtemp(join(tmpdir(), 'space-service-rebuilt-'));
  try {
    const file = join(folder, 'rebuilt.sqlite');
    await using rebuilt = await openSqlite(file, { runsMaintenance: false });
    withDatabase(file, (sqlite) => {
      sqlite.prepare('ATTACH ? AS original').run(databaseFile(dataDir));
      for (const table of tablesOf('stored')) {
        sqlite.exec(`INSERT INTO ${table} SELECT * FROM original.${table}`);
      }
    });
    await assertCounted(rebuilt.db);
    await rebuilt.db.transaction().execute(async (trx) => {
      for (const { pk } of await trx.selectFrom('spaces').select('pk').execute()) {
        await writerOf(rebuilt).indexSpaces(trx, [pk]);
      }
    });
    await refreshDictionary(rebuilt);
    const rebuiltIndexes = withDatabase(file, readIndexes);
    const storedIndexes = withDatabase(databaseFile(dataDir), readIndexes);
    assert.notEqual(rebuiltIndexes.dictionary, undefined, 'the rebuilt dictionary is current');
    const expected = {
      ...rebuiltIndexes,
      ...(!storedIndexes.dictionary && { dictionary: undefined }),
    };
    assert.deepEqual(storedIndexes, expected);
    return Object.fromEntries(
      Object.entries(rebuiltIndexes).map(([name, rows]) => [name, rows?.length ?? 0]),
    );
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Index columns whose values differ after a rebuild, by reason. */
export const notRebuilt: Readonly<Record<string, readonly string[]>> = {
  'Depends on the order of earlier changes.': [
    'public_spaces.revision',
    'dictionary.version',
    'dictionary.built_revision',
  ],
};

/** Reads the rows of each index in a fixed order. */
export function readIndexes(sqlite: Sqlite.Database): Record<string, unknown[] | undefined> {
  // FTS5 exposes the terms of a contentless index only through a vocabulary table.
  sqlite.exec('CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab(main, word_index, instance)');
  const rows = (query: string) => sqlite.prepare(query).raw().all();
  const tables = tablesOf('index')
    .filter((table) => table !== 'dictionary')
    .map((table) => {
      const columns = columnsOf(sqlite, table)
        .map(({ name }) => name)
        .filter((name) => !Object.values(notRebuilt).flat().includes(`${table}.${name}`));
      return [table, rows(`SELECT ${columns} FROM ${table} ORDER BY ${columns}`)];
    });
  return {
    ...Object.fromEntries(tables),
    word_index: rows('SELECT term, doc FROM temp.vocabulary ORDER BY doc, term'),
    dictionary: readDictionary(sqlite),
  };
}

/** Returns the dictionary's parameters, followed by its nodes; undefined if it is older than the last change. */
function readDictionary(sqlite: Sqlite.Database): unknown[] | undefined {
  const row = sqlite
    .prepare(
      `SELECT spaces, min_documents, trie FROM dictionary, search_revision
       WHERE built_revision >= search_revision.value`,
    )
    .get() as { spaces: number; min_documents: number; trie: Buffer } | undefined;
  if (!row) return undefined;
  const { unit, end, documents, total } = trieFromBytes(row.trie);
  const nodes = Array.from(unit, (letter, node) => [
    String.fromCharCode(letter),
    end[node],
    documents[node],
    total[node],
  ]);
  return [{ spaces: row.spaces, minDocuments: row.min_documents }, ...nodes];
}
