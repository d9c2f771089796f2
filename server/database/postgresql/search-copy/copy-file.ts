import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { codeOf } from '../../error-code.ts';
import { acquireFileLock } from '../../sqlite/file-lock.ts';
import { openFile } from '../../sqlite/open-file.ts';

// A folder contains one copy, in a file with a random name. A damaged copy is deleted, and its successor has another
// name, because processes that still have the old one open would delete the write-ahead log of a successor with the
// same name. See https://www.sqlite.org/howtocorrupt.html#_unlinking_or_renaming_a_database_file_while_in_use

/** Increase it when the tables or their meaning change. Copies of other versions are built again. */
const FORMAT = 5;

const EXTENSION = '.sqlite';

/** The name of the file that a process locks while it creates a copy. */
const LOCK = 'lock';

/** Longer than the creation of an empty copy takes. */
const LOCK_TIMEOUT_MS = 10_000;

/** Returns the file of the copy in a folder; undefined if there is none. */
export function findCopy(folder: string): string | undefined {
  const names = readNames(folder).filter((name) => name.endsWith(EXTENSION));
  return names[0] === undefined ? undefined : join(folder, names[0]);
}

function readNames(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}

/**
 * Creates an empty copy, unless the folder has one of this version that can be read.
 * @param indexVersion `Indexer.version`
 * @param onReplace called with the reason before an existing copy is deleted
 */
export async function prepareCopy(
  folder: string,
  indexVersion: number,
  onReplace: (reason: string) => void,
): Promise<void> {
  const version = `${FORMAT}.${indexVersion}`;
  mkdirSync(folder, { recursive: true });
  // Otherwise, a process could delete the copy that another one has just created.
  using lock = await acquireFileLock(join(folder, LOCK), {
    mode: 'exclusive',
    timeoutMs: LOCK_TIMEOUT_MS,
  });
  if (!lock) throw new Error('Another process is creating the copy of the search index.');
  const file = findCopy(folder);
  if (file !== undefined) {
    const defect = findDefect(file, version);
    if (defect === undefined) return;
    onReplace(defect);
  }
  for (const name of readNames(folder)) {
    if (name !== LOCK) rmSync(join(folder, name), { force: true });
  }
  const created = join(folder, randomUUID());
  const sqlite = openFile(created);
  try {
    sqlite.transaction(() => {
      for (const statement of statements) sqlite.exec(statement);
      sqlite.prepare("INSERT INTO copy_state VALUES (?, '', '0:0:', 0, 'building')").run(version);
      // Caches of processes that used a former copy have lower versions.
      sqlite.prepare('INSERT INTO search_revision VALUES (?)').run(Date.now() * 1000);
      sqlite
        .prepare("INSERT INTO dictionary VALUES (?, 0, 0, 1, X'0100000000000000000000000000')")
        .run(Date.now());
    })();
  } finally {
    sqlite.close();
  }
  // Other processes never see it without its tables.
  renameSync(created, created + EXTENSION);
}

/** Deletes a copy, so that `prepareCopy` creates another one. */
export function deleteCopy(file: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true });
}

function findDefect(file: string, version: string): string | undefined {
  try {
    const sqlite = new Sqlite(file);
    try {
      const [found] = sqlite.prepare('SELECT version FROM copy_state').pluck().all();
      return found === version ? undefined : 'it was written by another version';
    } finally {
      sqlite.close();
    }
  } catch (error) {
    return `it cannot be read: ${(error as Error).message}`;
  }
}

export function damage(message: string): Error {
  return new Sqlite.SqliteError(message, 'SQLITE_CORRUPT');
}

const PREFIX_LENGTHS = Array.from({ length: 31 }, (_, i) => i + 1).join(' ');

// The tables of the search index as in `sqlite/schema.sql`, without references to other tables. `users` has no suspended
// and deleted users, so that results omit their spaces. These are in `erased_spaces` until they have been removed.
const statements = [
  `CREATE TABLE public_spaces (
    key INTEGER PRIMARY KEY,
    space_pk INTEGER NOT NULL UNIQUE,
    creator_pk INTEGER NOT NULL,
    participant_count INTEGER NOT NULL,
    title_key TEXT NOT NULL,
    head TEXT NOT NULL,
    tail TEXT NOT NULL,
    revision INTEGER NOT NULL
  ) STRICT`,
  'CREATE INDEX public_spaces_by_title ON public_spaces (title_key, key)',
  'CREATE INDEX public_spaces_by_creator ON public_spaces (creator_pk, space_pk)',
  'CREATE TABLE tags (tag_id INTEGER PRIMARY KEY, tag_key TEXT NOT NULL UNIQUE) STRICT',
  `CREATE TABLE tag_hits (
    tag_id INTEGER NOT NULL,
    key INTEGER NOT NULL,
    PRIMARY KEY (tag_id, key)
  ) STRICT, WITHOUT ROWID`,
  'CREATE TABLE tag_counts (tag_id INTEGER PRIMARY KEY, space_count INTEGER NOT NULL) STRICT',
  `CREATE TABLE tag_prefixes (
    prefix TEXT NOT NULL,
    space_count INTEGER NOT NULL,
    tag_id INTEGER NOT NULL,
    PRIMARY KEY (prefix, space_count, tag_id)
  ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE users (
    pk INTEGER PRIMARY KEY,
    user_id TEXT NOT NULL,
    username TEXT NOT NULL,
    avatar TEXT
  ) STRICT`,
  `CREATE VIRTUAL TABLE word_index USING fts5(
    words, content='', contentless_delete=1, detail=none, prefix='${PREFIX_LENGTHS}',
    tokenize="ascii tokenchars '=+#.'"
  )`,
  "INSERT INTO word_index (word_index, rank) VALUES ('pgsz', 500)",
  "INSERT INTO word_index (word_index, rank) VALUES ('automerge', 0)",
  "INSERT INTO word_index (word_index, rank) VALUES ('crisismerge', 256)",
  "INSERT INTO word_index (word_index, rank) VALUES ('deletemerge', 0)",
  "CREATE VIRTUAL TABLE word_index_terms USING fts5vocab('word_index', 'row')",
  `CREATE TABLE dictionary (
    version INTEGER NOT NULL,
    built_revision INTEGER NOT NULL,
    spaces INTEGER NOT NULL,
    min_documents INTEGER NOT NULL,
    trie BLOB NOT NULL
  ) STRICT`,
  'CREATE TABLE search_index (version INTEGER NOT NULL) STRICT',
  'INSERT INTO search_index VALUES (0)',
  'CREATE TABLE search_revision (value INTEGER NOT NULL) STRICT',
  ...[
    'INSERT ON public_spaces',
    'DELETE ON public_spaces',
    'UPDATE ON public_spaces',
    'INSERT ON users',
    'UPDATE ON users',
    'DELETE ON users',
    'UPDATE OF version ON dictionary',
  ].map(
    (change, i) => `CREATE TRIGGER search_revision_${i + 1} AFTER ${change}
      BEGIN UPDATE search_revision SET value = value + 1; END`,
  ),
  'CREATE TABLE erased_spaces (space_pk INTEGER PRIMARY KEY, key INTEGER) STRICT',
  'CREATE TABLE discarded_avatars (avatar TEXT PRIMARY KEY, remove_after TEXT NOT NULL) STRICT',
  'CREATE TABLE pending_purges (id INTEGER PRIMARY KEY, requested_at TEXT NOT NULL, due_at TEXT) STRICT',

  // One row, see `CopyState`.
  `CREATE TABLE copy_state (
    version TEXT NOT NULL,
    epoch TEXT NOT NULL,
    snapshot TEXT NOT NULL,
    bound INTEGER NOT NULL,
    phase TEXT NOT NULL
  ) STRICT`,
  // The transactions that have added, edited or moved down a space, for as long as the log has them.
  `CREATE TABLE space_changes (
    xid INTEGER NOT NULL,
    space_pk INTEGER NOT NULL,
    PRIMARY KEY (xid, space_pk)
  ) STRICT, WITHOUT ROWID`,
  'CREATE INDEX space_changes_by_space ON space_changes (space_pk, xid)',
  // Large transactions that the snapshot shows, and whose changes after the id `after` are still to be added to
  // `pending_spaces`.
  `CREATE TABLE pending_transactions (
    xid INTEGER PRIMARY KEY,
    after INTEGER NOT NULL,
    changes INTEGER NOT NULL
  ) STRICT`,
  // Spaces that are public as of the snapshot, and are added later in steps.
  'CREATE TABLE pending_spaces (space_pk INTEGER PRIMARY KEY) STRICT',
];
