import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { Kysely } from 'kysely';
import { expect, test } from 'vitest';
import { openDatabase } from '../../server/database/open.ts';
import { sqliteDialect } from '../../server/database/sqlite/dialect.ts';
import * as initial from '../../server/database/sqlite/migrations/0001-initial.ts';
import * as names from '../../server/database/sqlite/migrations/0002-names.ts';

const HEADING = `-- The tables as the migrations create them. Do not edit: after a new migration, update this file with
--   npm test -- test/database/schema.test.ts --update
`;

test('matches schema.sql after all migrations', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'space-service-schema-'));
  try {
    const engine = await openDatabase({ dataDir }, { runsMaintenance: false });
    await engine.close();
    await expect(HEADING + dump(join(dataDir, 'space-service.sqlite'))).toMatchFileSnapshot(
      '../../server/database/sqlite/schema.sql',
    );
  } finally {
    await rm(dataDir, { recursive: true });
  }
});

test('Renaming columns keeps rows, references and triggers', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'space-service-names-'));
  const file = join(dataDir, 'names.sqlite');
  const db = new Kysely<unknown>({ dialect: sqliteDialect(file) });
  try {
    await initial.up(db);
    const sqlite = new Sqlite(file);
    const value = (query: string) => sqlite.prepare(query).pluck().get();
    sqlite.exec(`
      INSERT INTO users VALUES (7, 'u', 'n', 'n', 'n', 'e', 'e', NULL, '', 'a.webp', 0, '', '');
      INSERT INTO spaces VALUES (8, 's', 7, 't', 'd', 'public', NULL, 1, '');
      INSERT INTO public_spaces VALUES (9, 8, 7, 1, 't', '', '', 1);
    `);
    await names.up(db);

    const revision = value('SELECT value FROM search_revision');
    sqlite.exec(`UPDATE users SET avatar = 'b.webp' WHERE pk = 7`);
    expect(value('SELECT value FROM search_revision')).toBe(Number(revision) + 1);
    sqlite.exec('UPDATE spaces SET participant_count = 5 WHERE pk = 8');
    expect(value('SELECT participant_count FROM public_spaces WHERE space_pk = 8')).toBe(5);
    sqlite.exec('DELETE FROM users WHERE pk = 7');
    expect(value('SELECT count(*) FROM public_spaces')).toBe(0);
    sqlite.close();
  } finally {
    await db.destroy();
    await rm(dataDir, { recursive: true });
  }
});

function dump(file: string): string {
  const sqlite = new Sqlite(file, { readonly: true });
  try {
    const schema = sqlite
      .prepare(
        "SELECT name, tbl_name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY tbl_name, type <> 'table', name",
      )
      .all() as { name: string; tbl_name: string; sql: string }[];
    const indexes = schema
      .filter(({ sql }) => /^CREATE VIRTUAL TABLE \w+ USING fts5\(/.test(sql))
      .map(({ name }) => name);
    // SQLite, FTS5 and Kysely have internal tables, which schema.sql omits.
    const shadows = sqlite
      .prepare("SELECT name FROM pragma_table_list WHERE type = 'shadow'")
      .pluck()
      .all();
    const isInSchema = ({ tbl_name }: { tbl_name: string }) =>
      !/^(kysely|sqlite)_/.test(tbl_name) && !shadows.includes(tbl_name);
    const settings = indexes.flatMap((index) =>
      sqlite
        .prepare(`SELECT k || ' = ' || v FROM ${index}_config ORDER BY k`)
        .pluck()
        .all()
        .map((setting) => `-- ${index}: ${setting}\n`),
    );
    const statements = schema
      .filter(isInSchema)
      .map(({ sql }) => `\n${sql.trim().replace(/^ {2}/gm, '')};\n`);
    return [...statements, '\n', ...settings].join('');
  } finally {
    sqlite.close();
  }
}
