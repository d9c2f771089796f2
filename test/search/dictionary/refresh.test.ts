import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Engine } from '../../../server/database/engine.ts';
import { openDatabase } from '../../../server/database/open.ts';
import {
  ensureDictionary,
  refreshDictionary,
} from '../../../server/search/dictionary/dictionary.ts';
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

test('The dictionary is current after two processes have refreshed it at the same time', async () => {
  const { db } = engine;
  await using other = await openDatabase({ dataDir }, { runsMaintenance: false });
  // Not the trie of no words, so that the faster process changes the dictionary, and with it the search revision.
  await sql`UPDATE dictionary SET trie = X'00'`.execute(db);
  await sql`UPDATE search_revision SET value = value + 1`.execute(db);
  await Promise.all([refreshDictionary(engine), refreshDictionary(other)]);
  const state = await db
    .selectFrom(['dictionary', 'search_revision'])
    .select(['built_revision', 'value'])
    .executeTakeFirstOrThrow();
  expect(state.built_revision).toBe(state.value);
});

test('A start builds a missing dictionary, and leaves an outdated one to maintenance', async () => {
  const { db } = engine;
  const built = db.selectFrom('dictionary').select('built_revision');
  await sql`UPDATE search_revision SET value = value + 1`.execute(db);
  await ensureDictionary(engine);
  const first = await built.executeTakeFirstOrThrow();
  expect(first.built_revision).toBeGreaterThan(0);
  await sql`UPDATE search_revision SET value = value + 1`.execute(db);
  await ensureDictionary(engine);
  expect(await built.executeTakeFirst()).toEqual(first);
});
