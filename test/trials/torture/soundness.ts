import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isAvatarName } from '../../../server/avatars/store.ts';
import type { Database } from '../../../server/database/engine.ts';
import { isLiveUser } from '../../../server/database/erased-rows.ts';
import type { Location } from '../../../server/database/kind.ts';
import { openDatabase } from '../../../server/database/open.ts';
import { indexer } from '../../../server/search/document-rows.ts';
import { assertConsistent, assertCounted } from '../../support/consistency.ts';
import { assertIndexed, assertIntact } from '../../support/integrity.ts';
import { readFacts } from './ledger.ts';

/** Reads all facts from a database. A server may be using it. */
export async function readData(location: Location) {
  await using engine = await openDatabase(location, { purpose: 'command' });
  return await readFacts(engine.db);
}

/** Returns the number of entries in the index of messages. */
export async function countIndexedWords(location: Location): Promise<number> {
  await using engine = await openDatabase(location, { purpose: 'command' });
  const { count } = await engine.db
    .selectFrom('message_words')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return count;
}

/** Checks the consistency of rows, counters, sessions and avatar files. There must be no concurrent writes. */
export async function assertSound(location: Location): Promise<void> {
  if (!location.databaseUrl) assertIntact(location.dataDir);
  const folder = join(location.dataDir, 'avatars');
  const files = (await readdir(folder)).filter(isAvatarName);
  await using engine = await openDatabase(location, { purpose: 'command' });
  await assertCounted(engine.db);
  const usersWithoutSession = await engine.db
    .selectFrom('users')
    .select('user_id')
    .where('pk', 'not in', (from) => from.selectFrom('sessions').select('user_pk'))
    .where(isLiveUser('pk'))
    .execute();
  assert.deepEqual(usersWithoutSession, [], 'users without a session');
  await assertAvatarsOwned(engine.db, folder, files);
}

async function assertAvatarsOwned(db: Database, folder: string, files: string[]): Promise<void> {
  const users = await db.selectFrom('users').select('avatar').execute();
  const current = new Set(users.flatMap(({ avatar }) => avatar ?? []));
  const rows = await db.selectFrom('discarded_avatars').select('avatar').execute();
  const discarded = new Set(rows.map(({ avatar }) => avatar));
  for (const avatar of current) {
    assert(existsSync(join(folder, avatar)), `the file of the avatar ${avatar} is missing`);
    assert(!discarded.has(avatar), `${avatar} is both current and discarded`);
  }
  for (const file of files) {
    // A discarded avatar may have been removed, file and row, after the folder was read.
    const isKnown = current.has(file) || discarded.has(file) || !existsSync(join(folder, file));
    assert(isKnown, `the file ${file} has no owner`);
  }
}

/** Compares the search index with a full rebuild. There must be no concurrent writes. */
export async function assertRebuildMatches(location: Location): Promise<void> {
  if (!location.databaseUrl) {
    await assertIndexed(location.dataDir);
    return;
  }
  // Not a command, which would have no copy of the search index.
  await using engine = await openDatabase(location, { runsMaintenance: false, indexer });
  await assertConsistent(engine);
}
