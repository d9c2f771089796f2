import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { isAvatarName } from '../../server/avatars/store.ts';
import { openSqlite } from '../../server/database/sqlite/engine.ts';
import { indexSpace } from '../../server/search/documents.ts';
import { readFacts } from './ledger.ts';

export function databaseFile(dataDir: string): string {
  return join(dataDir, 'space-service.sqlite');
}

/** What `readFacts` reads from a data folder, whether or not a server runs on it. */
export function readDataDir(dataDir: string) {
  const sqlite = new Sqlite(databaseFile(dataDir), { timeout: 10_000 });
  try {
    return readFacts(sqlite);
  } finally {
    sqlite.close();
  }
}

/** Holds what is in a data folder against itself: rows, counters, sessions, pictures. Nobody may be writing to it. */
export async function assertSound(dataDir: string): Promise<void> {
  assertIntact(dataDir);
  const folder = join(dataDir, 'avatars');
  const files = (await readdir(folder)).filter(isAvatarName);
  const sqlite = new Sqlite(databaseFile(dataDir), { timeout: 10_000 });
  try {
    const column = (query: string) => sqlite.prepare(query).pluck().all() as string[];
    const strangers = column(
      'SELECT user_id FROM users WHERE id NOT IN (SELECT user FROM sessions)',
    );
    assert.deepEqual(strangers, [], 'users without the session that came with them');

    const shown = new Set(column('SELECT picture FROM users WHERE picture IS NOT NULL'));
    const queued = new Set(column('SELECT picture FROM discarded_avatars'));
    for (const picture of shown) {
      assert(existsSync(join(folder, picture)), `the file of the picture ${picture}`);
      assert(!queued.has(picture), `${picture} is shown, and about to be removed`);
    }
    for (const file of files) {
      // One that was in the queue may have been removed, file and row, since the folder was read.
      const isKnown = shown.has(file) || queued.has(file) || !existsSync(join(folder, file));
      assert(isKnown, `the file ${file} belongs to nobody`);
    }
  } finally {
    sqlite.close();
  }
}

/** Holds a database against itself: SQLite's and FTS5's own checks, and what is counted. */
export function assertIntact(dataDir: string): void {
  const sqlite = new Sqlite(databaseFile(dataDir), { timeout: 10_000 });
  try {
    assert.deepEqual(sqlite.pragma('integrity_check'), [{ integrity_check: 'ok' }]);
    assert.deepEqual(sqlite.pragma('foreign_key_check'), []);
    for (const index of wordIndexes(sqlite)) {
      sqlite.exec(`INSERT INTO ${index} (${index}, rank) VALUES ('integrity-check', 0)`);
    }
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

/** Holds the search's indexes against those that the same rows would get in a new database. */
export async function assertIndexed(dataDir: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'space-service-anew-'));
  try {
    const file = join(folder, 'anew.sqlite');
    await using anew = await openSqlite(file, false);
    const copying = new Sqlite(file, { timeout: 10_000 });
    copying.prepare('ATTACH ? AS original').run(databaseFile(dataDir));
    for (const table of ['users', 'spaces', 'tags', 'space_tags']) {
      copying.exec(`INSERT INTO ${table} SELECT * FROM original.${table}`);
    }
    copying.close();
    await anew.db.transaction().execute(async (trx) => {
      for (const { id } of await trx.selectFrom('spaces').select('id').execute()) {
        await indexSpace(anew, trx, id);
      }
    });
    const is = readIndexes(databaseFile(dataDir));
    const shouldBe = readIndexes(file);
    for (const [name, rows] of shouldBe) {
      assert.deepEqual(is.get(name), rows, `${name}, compared with an index made anew`);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
}

function wordIndexes(sqlite: Sqlite.Database): string[] {
  const names = sqlite
    .prepare(`SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL TABLE%USING fts5%'`)
    .pluck()
    .all() as string[];
  assert(names.length > 0, 'there are word indexes');
  return names;
}

/** What the indexes hold, each in an order of its own; word indexes as FTS5's vocabulary tables show them. */
function readIndexes(file: string): Map<string, unknown[]> {
  const sqlite = new Sqlite(file, { timeout: 10_000 });
  try {
    const rows = (query: string) => sqlite.prepare(query).raw().all();
    const indexes = new Map([
      [
        'public_spaces',
        rows(
          'SELECT key, space, creator, participant_count, title_key, head, tail FROM public_spaces ORDER BY key',
        ),
      ],
      ['tag_hits', rows('SELECT * FROM tag_hits ORDER BY tag, key')],
      ['known_words', rows('SELECT word, spaces FROM known_words ORDER BY word')],
      [
        'known_word_deletions',
        rows(
          `SELECT deletion, known_words.word FROM known_word_deletions
           JOIN known_words ON known_words.id = known_word_deletions.word
           ORDER BY deletion, known_words.word`,
        ),
      ],
    ]);
    for (const name of wordIndexes(sqlite)) {
      sqlite.exec(`CREATE VIRTUAL TABLE temp.${name}_held
        USING fts5vocab(main, ${name}, instance)`);
      indexes.set(name, rows(`SELECT term, doc FROM temp.${name}_held ORDER BY doc, term`));
    }
    return indexes;
  } finally {
    sqlite.close();
  }
}
