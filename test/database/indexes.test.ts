import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Database, Engine } from '../../server/database/engine.ts';
import { openDatabase } from '../../server/database/open.ts';
import { dropIndexes } from '../../server/database/sqlite/indexes.ts';
import { transactAlone } from '../../server/database/transaction.ts';
import { ImportError, importRecords } from '../../server/import-export/import.ts';
import { validRecords } from '../import-export/records.ts';
import { toLines } from '../support/ndjson.ts';

let dataDir: string;
let engine: Engine;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'indexes-'));
  engine = await openDatabase({ dataDir }, { purpose: 'import' });
});
afterEach(async () => {
  await engine.close();
  await rm(dataDir, { recursive: true });
});

async function readIndexes(db: Database) {
  const { rows } = await sql<{ name: string; sql: string | null }>`
    SELECT name, sql FROM sqlite_schema WHERE type = 'index' ORDER BY name`.execute(db);
  return rows;
}

/** Drops the indexes in a transaction that is then rolled back. Returns the names of the dropped ones. */
async function tryToDrop(): Promise<string[]> {
  const before = await readIndexes(engine.db);
  let after = before;
  const rolledBack = new Error('rolled back');
  const dropping = transactAlone(engine, async (trx) => {
    await dropIndexes(trx);
    after = await readIndexes(trx);
    throw rolledBack;
  });
  await expect(dropping).rejects.toBe(rolledBack);
  const left = new Set(after.map(({ name }) => name));
  return before.map(({ name }) => name).filter((name) => !left.has(name));
}

test('An import into an empty database leaves all indexes, with all rows', async () => {
  const before = await readIndexes(engine.db);
  await importRecords(engine, toLines(validRecords));
  expect(await readIndexes(engine.db)).toEqual(before);
  // Compares the rows of tables and indexes.
  const { rows } = await sql`PRAGMA integrity_check`.execute(engine.db);
  expect(rows).toEqual([{ integrity_check: 'ok' }]);
});

test('A rejected import leaves all indexes', async () => {
  const before = await readIndexes(engine.db);
  const importing = importRecords(engine, toLines([...validRecords, 'bad']));
  await expect(importing).rejects.toThrow(ImportError);
  expect(await readIndexes(engine.db)).toEqual(before);
});

test('An import drops indexes only of an empty database', async () => {
  expect(await tryToDrop()).toEqual([
    'appreciations_by_author',
    'appreciations_by_message',
    'appreciations_by_user',
    'current_participations_by_user',
    'messages_by_author',
    'participations_by_space',
    'participations_by_user',
    'past_participations_by_user',
    'public_spaces_by_creator',
    'public_spaces_by_title',
    'removals_by_space',
    'space_tags_by_tag',
    'spaces_by_creator',
  ]);
  await importRecords(engine, toLines(validRecords));
  expect(await tryToDrop()).toEqual([]);
});
