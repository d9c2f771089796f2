import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, test } from 'vitest';
import { openDatabase } from '../../server/database/open.ts';

const heading = `-- The tables as the migrations create them. Do not edit: after a new migration, update this file with
--   npm test -- test/database/schema.test.ts --update
`;

test('The migrations make the schema that schema.sql shows', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'space-service-schema-'));
  try {
    const engine = await openDatabase({ dataDir }, { maintains: false });
    await engine.close();
    await expect(heading + dump(join(dataDir, 'space-service.sqlite'))).toMatchFileSnapshot(
      '../../server/database/sqlite/schema.sql',
    );
  } finally {
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
      .filter(({ sql }) => sql.startsWith('CREATE VIRTUAL TABLE'))
      .map(({ name }) => name);
    // What SQLite, its word indexes and the library that migrates keep for themselves.
    const isOurs = ({ tbl_name }: { tbl_name: string }) =>
      !/^(kysely|sqlite)_/.test(tbl_name) &&
      !indexes.some((index) => tbl_name.startsWith(`${index}_`));
    const settings = indexes.flatMap((index) =>
      sqlite
        .prepare(`SELECT k || ' = ' || v FROM ${index}_config ORDER BY k`)
        .pluck()
        .all()
        .map((setting) => `-- ${index}: ${setting}\n`),
    );
    const statements = schema.filter(isOurs).map(({ sql }) => `\n${sql.replace(/^ {2}/gm, '')};\n`);
    return [...statements, '\n', ...settings].join('');
  } finally {
    sqlite.close();
  }
}
