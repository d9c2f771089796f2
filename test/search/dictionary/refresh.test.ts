import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Engine } from '../../../server/database/engine.ts';
import { openDatabase } from '../../../server/database/open.ts';
import { refreshDictionary } from '../../../server/search/dictionary/dictionary.ts';
import { spaceRow } from '../../database/spaces.ts';
import { insertUser } from '../../database/users.ts';

let dataDir: string;
let engine: Engine;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'dictionary-'));
  engine = await openDatabase({ dataDir }, { runsMaintenance: false });
});
afterEach(async () => {
  await engine.close();
  await rm(dataDir, { recursive: true });
});

test('A refresh without changes does not read the words of the dictionary', async () => {
  await refreshDictionary(engine);
  // Maintenance calls it several times per second, and the words of a million spaces take some megabytes.
  await sql`ALTER TABLE dictionary RENAME COLUMN trie TO words`.execute(engine.db);
  await expect(refreshDictionary(engine)).resolves.toBe(true);
});

test('A refresh does nothing and returns false while the word index has words of a deleted space', async () => {
  const { db } = engine;
  await insertUser(db, 'ada');
  const [space] = await db
    .insertInto('spaces')
    .values(spaceRow('erased:1', 1))
    .returning('pk')
    .execute();
  await db
    .insertInto('erased_spaces')
    .values({ space_pk: space?.pk as number, key: 1 })
    .execute();
  await sql`UPDATE search_revision SET value = value + 1`.execute(db);
  const built = db.selectFrom('dictionary').select('built_revision');
  const before = await built.execute();
  expect(await refreshDictionary(engine)).toBe(false);
  expect(await built.execute()).toEqual(before);
  await db.updateTable('erased_spaces').set({ key: null }).execute();
  expect(await refreshDictionary(engine)).toBe(true);
  expect(await built.execute()).not.toEqual(before);
});
