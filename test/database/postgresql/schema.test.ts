import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Engine } from '../../../server/database/engine.ts';
import { openPostgresql } from '../../../server/database/postgresql/open.ts';
import { openSqlite } from '../../../server/database/sqlite/open.ts';
import { startPostgresql } from '../../support/postgresql.ts';

/** Tables that only one kind of database needs. */
const ONLY_SQLITE = ['pending_purges', 'word_index'];
const ONLY_POSTGRESQL = ['maintenance_lease', 'rate_limits', 'word_blocks', 'word_changes'];

test('Both kinds of databases have the same tables and columns', async () => {
  const options = { migrate: true, runsMaintenance: false };
  await using server = await startPostgresql();
  await using postgresql = await openPostgresql(await server.createDatabase('empty'), options);
  await using folder = await mkdtempDisposable(join(tmpdir(), 'schema-'));
  await using sqlite = await openSqlite(join(folder.path, 'empty.sqlite'), options);
  expect(await columnsOf(postgresql, ONLY_POSTGRESQL)).toEqual(
    await columnsOf(sqlite, ONLY_SQLITE),
  );
});

test('Servers that start at the same time migrate an empty database only once', async () => {
  await using server = await startPostgresql();
  const url = await server.createDatabase('shared');
  const open = () => openPostgresql(url, { migrate: true, runsMaintenance: false });
  const engines = await Promise.allSettled(Array.from({ length: 6 }, open));
  for (const engine of engines) if (engine.status === 'fulfilled') await engine.value.close();
  expect(engines.map(({ status }) => status)).toEqual(Array(6).fill('fulfilled'));
});

async function columnsOf({ db }: Engine, except: string[]) {
  const tables = await db.introspection.getTables();
  const names = tables.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(except));
  return tables
    .filter(({ name }) => !except.includes(name) && !/^(kysely_|word_index_)/.test(name))
    .flatMap(({ name, columns }) => columns.map((column) => `${name}.${column.name}`))
    .sort();
}
