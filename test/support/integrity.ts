import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { openSqlite } from '../../server/database/sqlite/engine.ts';
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
           (SELECT count(*) FROM participations WHERE space = spaces.id AND left_at IS NULL)`,
      )
      .all();
    assert.deepEqual(miscounted, [], 'spaces with a wrong number of participants');
    const unused = sqlite
      .prepare('SELECT tag_key FROM tags WHERE id NOT IN (SELECT tag FROM space_tags)')
      .all();
    assert.deepEqual(unused, [], 'tags that no space has');
  } finally {
    sqlite.close();
  }
}

/**
 * Compares the search indexes with a full rebuild from the same rows.
 * @returns the number of rows in each index
 * @throws AssertionError
 */
export async function assertIndexed(dataDir: string): Promise<Record<string, number>> {
  const folder = await mkdtemp(join(tmpdir(), 'space-service-anew-'));
  try {
    const file = join(folder, 'anew.sqlite');
    await using anew = await openSqlite(file, { maintains: false, migrates: true });
    const copying = new Sqlite(file, { timeout: 10_000 });
    copying.prepare('ATTACH ? AS original').run(databaseFile(dataDir));
    for (const table of tablesOf('stored')) {
      copying.exec(`INSERT INTO ${table} SELECT * FROM original.${table}`);
    }
    copying.close();
    await anew.db.transaction().execute(async (trx) => {
      for (const { id } of await trx.selectFrom('spaces').select('id').execute()) {
        await indexSpace(anew, trx, id);
      }
    });
    const shouldBe = withDatabase(file, readIndexes);
    assert.deepEqual(withDatabase(databaseFile(dataDir), readIndexes), shouldBe);
    return Object.fromEntries(Object.entries(shouldBe).map(([name, rows]) => [name, rows.length]));
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Index columns whose values a rebuild may change, by reason. */
export const notRebuilt: Readonly<Record<string, readonly string[]>> = {
  'Numbers are given in the order of writing.': [
    'public_spaces.revision',
    'known_words.id',
    'known_word_deletions.word',
  ],
};

/** Reads the rows of each index in a fixed order. FTS5's vocabulary table shows the word index. */
export function readIndexes(sqlite: Sqlite.Database): Record<string, unknown[]> {
  sqlite.exec('CREATE VIRTUAL TABLE temp.held USING fts5vocab(main, word_index, instance)');
  const rows = (query: string) => sqlite.prepare(query).raw().all();
  return {
    public_spaces: rows(
      `SELECT key, space, creator, participant_count, title_key, head, tail
       FROM public_spaces ORDER BY key`,
    ),
    tag_hits: rows('SELECT * FROM tag_hits ORDER BY tag, key'),
    word_index: rows('SELECT term, doc FROM temp.held ORDER BY doc, term'),
    known_words: rows('SELECT word, spaces FROM known_words ORDER BY word'),
    known_word_deletions: rows(
      `SELECT deletion, known_words.word
       FROM known_word_deletions JOIN known_words ON known_words.id = known_word_deletions.word
       ORDER BY deletion, known_words.word`,
    ),
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
