import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { isAvatarName } from '../../server/avatars/store.ts';
import { assertIntact, databaseFile } from '../support/integrity.ts';
import { readFacts } from './ledger.ts';

/** Reads all facts from a data folder. A server may be using it. */
export function readDataDir(dataDir: string) {
  const sqlite = new Sqlite(databaseFile(dataDir), { timeout: 10_000 });
  try {
    return readFacts(sqlite);
  } finally {
    sqlite.close();
  }
}

/** Checks the consistency of rows, counters, sessions and avatar files. There must be no concurrent writes. */
export async function assertSound(dataDir: string): Promise<void> {
  assertIntact(dataDir);
  const folder = join(dataDir, 'avatars');
  const files = (await readdir(folder)).filter(isAvatarName);
  const sqlite = new Sqlite(databaseFile(dataDir), { timeout: 10_000 });
  try {
    const column = (query: string) => sqlite.prepare(query).pluck().all() as string[];
    const usersWithoutSession = column(
      'SELECT user_id FROM users WHERE pk NOT IN (SELECT user_pk FROM sessions)',
    );
    assert.deepEqual(usersWithoutSession, [], 'users without a session');

    const current = new Set(column('SELECT avatar FROM users WHERE avatar IS NOT NULL'));
    const discarded = new Set(column('SELECT avatar FROM discarded_avatars'));
    for (const avatar of current) {
      assert(existsSync(join(folder, avatar)), `the file of the avatar ${avatar} is missing`);
      assert(!discarded.has(avatar), `${avatar} is both current and discarded`);
    }
    for (const file of files) {
      // A discarded avatar may have been removed, file and row, after the folder was read.
      const isKnown = current.has(file) || discarded.has(file) || !existsSync(join(folder, file));
      assert(isKnown, `the file ${file} has no owner`);
    }
  } finally {
    sqlite.close();
  }
}
