import { open, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncFolder } from '../../system/durable-files.ts';
import type { Database } from '../engine.ts';
import { codeOf } from '../error-code.ts';
import { ioError } from './errors.ts';
import { erasureJournal } from './location.ts';

// A backup from before the deletion of an account brings it back. So a file beside the database has a line for each
// deleted account, with the time of the deletion and a hash of the id. The hash does not reveal the id.

/** @param file the database */
function journalOf(file: string): string {
  return erasureJournal({ dataDir: dirname(file) });
}

/**
 * Moves the hashes of deleted accounts from the database to the journal. After a crash, a hash can be in it twice.
 * @throws an error for which `isUnavailable` returns true if the journal cannot be written
 */
export async function recordErasures(db: Database, file: string): Promise<void> {
  const erased = await db
    .selectFrom('pending_purges')
    .select(['id', 'user_id_hash', 'requested_at'])
    .where('user_id_hash', 'is not', null)
    .orderBy('id')
    .execute();
  const last = erased.at(-1);
  if (!last) return;
  const lines = erased.map(({ user_id_hash, requested_at }) => `${requested_at} ${user_id_hash}\n`);
  try {
    await using journal = await open(journalOf(file), 'a', 0o600);
    await journal.appendFile(lines.join(''));
    await journal.sync();
    await syncFolder(dirname(file));
  } catch (error) {
    throw ioError(
      `The hashes of deleted accounts cannot be written. ${(error as Error).message}`,
      error,
    );
  }
  await db
    .updateTable('pending_purges')
    .set({ user_id_hash: null })
    .where('id', '<=', last.id)
    .execute();
}

/** Returns the hashes of deleted accounts. */
export async function readErasures(file: string): Promise<Set<string>> {
  const text = await readFile(journalOf(file), 'utf8').catch((error: unknown) => {
    if (codeOf(error) !== 'ENOENT') throw error;
    return '';
  });
  // A crash can leave an incomplete line, to which the next one is then appended.
  const hashes = text.matchAll(/Z ([0-9a-f]{64})\n/g);
  return new Set(Array.from(hashes, ([, hash]) => hash as string));
}
