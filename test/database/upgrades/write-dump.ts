import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { migrations } from '../../../server/database/sqlite/migrations/index.ts';
import { completeCommand } from '../../support/commands.ts';
import { databaseFile } from '../../support/integrity.ts';
import { startServer } from '../../support/server.ts';

// Writes a database of this version for test/database/upgrade.test.ts: its rows as SQL, and its export. Run it before a
// release if its last migration has no dump yet:
//   npx node test/database/upgrades/write-dump.ts

/** Tables with rows that the migrations insert. */
const FILLED_BY_MIGRATIONS = ['dictionary', 'search_index', 'secrets'];

const name = join(import.meta.dirname, Object.keys(migrations).at(-1) as string);
const folder = await mkdtemp(join(tmpdir(), 'write-dump-'));
try {
  const settings = { DATA_DIR: folder };
  await completeCommand('import', [join(import.meta.dirname, 'records.ndjson')], settings);
  await fillOtherTables();
  await writeFile(`${name}.ndjson`, await completeCommand('export', [], settings));
  await writeFile(`${name}.sql`, dump(databaseFile(folder)));
} finally {
  await rm(folder, { recursive: true });
}

/** Fills the tables that the import does not fill. */
async function fillOtherTables(): Promise<void> {
  {
    await using server = await startServer({ DATA_DIR: folder });
    const login = await fetch(`${server.url}/api/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'ada@example.com', password: 'correct horse battery' }),
    });
    if (!login.ok) throw new Error(`The login failed: ${await login.text()}`);
    await server.stop();
  }
  // The service leaves these tables empty or empties them immediately, so fill them directly.
  const sqlite = new Sqlite(databaseFile(folder));
  sqlite.exec(`
    INSERT INTO discarded_avatars VALUES ('old-avatar-name-000000.webp', '2026-01-06T00:00:00.000Z');
    INSERT INTO reports VALUES (1, 'report', 2, 1, NULL, 'Off topic', '2026-01-06T00:00:00.000Z');
    INSERT INTO pending_purges VALUES (1, '2026-01-06T00:00:00.000Z');
    INSERT INTO spaces_to_index VALUES (1, NULL);
    INSERT INTO spaces_to_move VALUES (1);
    INSERT INTO action_counts VALUES (1, 'space', '2026-01-06T00:00:00.000Z', 2, '2026-01-06T00:00:00.000Z', 3);
    INSERT INTO users (pk, user_id, username, username_key, username_skeleton, email, email_key, bio, is_verified, created_at, updated_at)
      VALUES (99, 'erased:99', '', 'erased:99', 'erased:99', '', 'erased:99', '', 0, '2026-01-06T00:00:00.000Z', '2026-01-06T00:00:00.000Z');
    INSERT INTO erased_users VALUES (99);
    INSERT INTO spaces (pk, space_id, creator_pk, title, description, visibility, participant_count, created_at)
      VALUES (99, 'erased:99', 99, 'Deleted', '', 'public', 0, '2026-01-06T00:00:00.000Z');
    INSERT INTO erased_spaces VALUES (99, NULL);`);
  sqlite.close();
}

/** Returns SQL that inserts every row into a new database with the same migrations. */
function dump(file: string): string {
  const sqlite = new Sqlite(file, { readonly: true });
  try {
    const tables = sqlite
      .prepare(
        `SELECT name FROM pragma_table_list
         WHERE schema = 'main' AND type = 'table' AND name NOT GLOB 'sqlite_*' AND name NOT GLOB 'kysely_*'
           AND name != 'search_revision'
         ORDER BY name`,
      )
      .pluck()
      .all() as string[];
    return [
      ...tables.map((table) => dumpTable(sqlite, table)),
      dumpWordIndex(sqlite),
      dumpRevision(sqlite),
    ].join('\n');
  } finally {
    sqlite.close();
  }
}

function dumpTable(sqlite: Sqlite.Database, table: string): string {
  const columns = sqlite.pragma(`table_info(${table})`) as { name: string }[];
  const names = columns.map(({ name }) => name).join(', ');
  const values = columns.map(({ name }) => `quote(${name})`).join(` || ', ' || `);
  const rows = sqlite.prepare(`SELECT ${values} FROM ${table}`).pluck().all() as string[];
  if (rows.length === 0) throw new Error(`${table} is empty. Fill it in fillOtherTables().`);
  const deletion = FILLED_BY_MIGRATIONS.includes(table) ? `DELETE FROM ${table};\n` : '';
  return `${deletion}INSERT INTO ${table} (${names}) VALUES\n${formatRows(rows)};\n`;
}

/** Returns an UPDATE, because the migrations insert the row and triggers change it. */
function dumpRevision(sqlite: Sqlite.Database): string {
  const value = sqlite.prepare('SELECT value FROM search_revision').pluck().get();
  return `UPDATE search_revision SET value = ${value};\n`;
}

/** Returns the words of each document in alphabetical order, because the index does not store their order. */
function dumpWordIndex(sqlite: Sqlite.Database): string {
  sqlite.exec('CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab(main, word_index, instance)');
  const rows = sqlite
    .prepare(
      `SELECT doc || ', ' || quote(group_concat(term, ' ' ORDER BY term))
       FROM temp.vocabulary GROUP BY doc ORDER BY doc`,
    )
    .pluck()
    .all() as string[];
  return `INSERT INTO word_index (rowid, words) VALUES\n${formatRows(rows)};\n`;
}

/** Formats rows in parentheses, in lines of at most 120 characters. */
function formatRows(rows: string[]): string {
  return rows
    .map((row) => `(${row})`)
    .reduce((text, row) => {
      const fits = text.length - text.lastIndexOf('\n') + row.length < 120;
      return `${text},${fits ? ' ' : '\n'}${row}`;
    });
}
