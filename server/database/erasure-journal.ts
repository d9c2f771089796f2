import { open, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { syncFolder } from '../system/durable-files.ts';
import type { Database } from './engine.ts';
import { codeOf } from './error-code.ts';
import type { Location } from './kind.ts';
import { columnOf, MAX_ROWS_PER_STATEMENT } from './prepared.ts';

// A backup from before the deletion of an account brings it back. So a file outside of the database has a line for each
// deleted account, with the time of the deletion and a hash of the id. The hash does not reveal the id.

export function erasureJournal({ dataDir }: Pick<Location, 'dataDir'>): string {
  return join(dataDir, 'erased-accounts.txt');
}

/**
 * Moves the hashes of deleted accounts from the database to the journal. After a crash, a hash can be in it twice.
 * @throws the errors of the database or the file system
 */
export async function recordErasures(db: Database, journal: string): Promise<void> {
  while (true) {
    const erased = await db
      .selectFrom('pending_purges')
      .select(['id', 'user_id_hash', 'requested_at'])
      .where('user_id_hash', 'is not', null)
      .orderBy('id')
      .limit(MAX_ROWS_PER_STATEMENT)
      .execute();
    if (erased.length === 0) return;
    const lines = erased.map((row) => `${row.requested_at} ${row.user_id_hash}\n`);
    await appendDurably(journal, lines.join(''));
    await db
      .updateTable('pending_purges')
      .set({ user_id_hash: null })
      // On PostgreSQL, a transaction can commit a lower id meanwhile.
      .where('id', 'in', columnOf(erased, 'id'))
      .execute();
  }
}

async function appendDurably(path: string, text: string): Promise<void> {
  {
    await using file = await open(path, 'a', 0o600);
    await file.appendFile(text);
    await file.sync();
  }
  await syncFolder(dirname(path));
}

/** Returns the hashes of deleted accounts. */
export async function readErasures(journal: string): Promise<Set<string>> {
  const text = await readFile(journal, 'utf8').catch((error: unknown) => {
    if (codeOf(error) !== 'ENOENT') throw error;
    return '';
  });
  // A crash can leave an incomplete line, to which the next one is then appended.
  const hashes = text.matchAll(/Z ([0-9a-f]{64})\n/g);
  return new Set(Array.from(hashes, ([, hash]) => hash as string));
}
