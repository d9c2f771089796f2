import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { openSqlite } from '../../server/database/sqlite/open.ts';
import { refreshDictionary } from '../../server/search/dictionary/dictionary.ts';
import { trieFromBytes } from '../../server/search/dictionary/trie.ts';
import { indexSpace } from '../../server/search/documents.ts';
import { tablesOf } from './tables.ts';

export function databaseFile(dataDir: string): string {
  return join(dataDir, 'space-service.sqlite');
}

/**
 * Runs the integrity checks of SQLite and FTS5, and compares counters with the rows they count.
 * @throws AssertionError
 */
export function assertIntact(dataDir: string): void {
  const sqlite = new Sqlite(databaseFile(dataDir), { timeout: 10_000 });
  try {
    assert.deepEqual(sqlite.pragma('integrity_check'), [{ integrity_check: 'ok' }]);
    assert.deepEqual(sqlite.pragma('foreign_key_check'), []);
    sqlite.exec(`INSERT INTO word_index (word_index, rank) VALUES ('integrity-check', 0)`);
    const miscounted = sqlite
      .prepare(
        `SELECT space_id FROM spaces WHERE participant_count !=
           (SELECT count(*) FROM participations WHERE space_pk = spaces.pk AND left_at IS NULL)`,
      )
      .all();
    assert.deepEqual(miscounted, [], 'spaces with a wrong number of participants');
    const unused = sqlite
      .prepare('SELECT tag_key FROM tags WHERE tag_id NOT IN (SELECT tag_id FROM space_tags)')
      .all();
    assert.deepEqual(unused, [], 'tags that no space has');
  } finally {
    sqlite.close();
  }
}

/**
 * Compares the search indexes with a full rebuild from the same rows. Also the dictionary, if it was built since the last
 * change.
 * @returns the number of rows in each index
 * @throws AssertionError
 */
export async function assertIndexed(dataDir: string): Promise<Record<string, number>> {
  const folder = await mkdtemp(join(tmpdir(), 'space-service-anew-'));
  try {
    const file = join(folder, 'anew.sqlite');
    await using anew = await openSqlite(file, { runsMaintenance: false, migrate: true });
    const copying = new Sqlite(file, { timeout: 10_000 });
    copying.prepare('ATTACH ? AS original').run(databaseFile(dataDir));
    for (const table of tablesOf('stored')) {
      copying.exec(`INSERT INTO ${table} SELECT * FROM original.${table}`);
    }
    copying.close();
    await anew.db.transaction().execute(async (trx) => {
      for (const { pk } of await trx.selectFrom('spaces').select('pk').execute()) {
        await indexSpace(anew, trx, pk);
      }
    });
    await refreshDictionary(anew);
    const shouldBe = withDatabase(file, readIndexes);
    const actual = withDatabase(databaseFile(dataDir), readIndexes);
    assert.notEqual(shouldBe.dictionary, undefined, 'a new dictionary is current');
    const expected = { ...shouldBe, ...(!actual.dictionary && { dictionary: undefined }) };
    assert.deepEqual(actual, expected);
    return Object.fromEntries(
      Object.entries(shouldBe).map(([name, rows]) => [name, rows?.length ?? 0]),
    );
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Index columns whose values a rebuild may change, by reason. */
export const notRebuilt: Readonly<Record<string, readonly string[]>> = {
  'Numbers the changes in the order of writing.': [
    'public_spaces.revision',
    'dictionary.version',
    'dictionary.built_revision',
  ],
};

/** Reads the rows of each index in a fixed order. FTS5's vocabulary table shows the word index. */
export function readIndexes(sqlite: Sqlite.Database): Record<string, unknown[] | undefined> {
  sqlite.exec('CREATE VIRTUAL TABLE temp.held USING fts5vocab(main, word_index, instance)');
  const rows = (query: string) => sqlite.prepare(query).raw().all();
  return {
    public_spaces: rows(
      `SELECT key, space_pk, creator_pk, participant_count, title_key, head, tail
       FROM public_spaces ORDER BY key`,
    ),
    tag_hits: rows('SELECT * FROM tag_hits ORDER BY tag_id, key'),
    word_index: rows('SELECT term, doc FROM temp.held ORDER BY doc, term'),
    dictionary: readDictionary(sqlite),
  };
}

function withDatabase<T>(file: string, work: (sqlite: Sqlite.Database) => T): T {
  const sqlite = new Sqlite(file, { timeout: 10_000 });
  try {
    return work(sqlite);
  } finally {
    sqlite.close();
  }
}

/** The dictionary's nodes, after the numbers that it depends on; undefined if it is older than the last change. */
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
