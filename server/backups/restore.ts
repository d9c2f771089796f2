import { appendFile, readFile } from 'node:fs/promises';
import type { AvatarStore } from '../avatars/store.ts';
import { listAvatars } from '../avatars/used-avatars.ts';
import type { Config } from '../config.ts';
import type { Engine } from '../database/engine.ts';
import { erasureJournal } from '../database/erasure-journal.ts';
import { OperatorError } from '../errors.ts';
import { createDataFolder } from '../system/data-folder.ts';
import { forEachConcurrently, JOURNAL_NAME, readAvatarList } from './backup.ts';
import { completeBackups, databaseOf } from './backup-names.ts';
import { openBackupStore } from './open.ts';
import type { BackupStore } from './store.ts';

/** Returns the names of the scheduled backups, the newest first. */
export async function listBackups(config: Config): Promise<string[]> {
  const store = await openBackupStore(config);
  if (!store) throw new OperatorError('Set BACKUPS_FOLDER or BACKUPS_BUCKET, or name a file.');
  return completeBackups(await store.list('top'));
}

/**
 * Calls `restoreDatabase` with the database of a scheduled backup. Before that, adds the deleted accounts that the store
 * knows to the journal in the data folder, which another machine can lack.
 */
export async function useBackup(
  config: Config,
  name: string,
  restoreDatabase: (file: string) => Promise<void>,
): Promise<BackupStore> {
  const store = await openBackupStore(config);
  if (!store || !completeBackups(await store.list('top')).includes(name)) {
    throw new OperatorError(
      store
        ? `There is no backup ${name}. Without a name, this command lists the backups.`
        : `${name} is the name of a scheduled backup. Set BACKUPS_FOLDER or BACKUPS_BUCKET.`,
    );
  }
  await createDataFolder(config.dataDir);
  await addToJournal(config, await store.read('top', JOURNAL_NAME));
  await store.useLarge(databaseOf(name), restoreDatabase);
  return store;
}

async function addToJournal(config: Config, stored: Buffer | undefined): Promise<void> {
  if (!stored) return;
  const file = erasureJournal(config);
  const own = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return '';
  });
  const known = new Set(own.split('\n'));
  const others = stored
    .toString()
    .split('\n')
    .filter((line) => !known.has(line))
    .map((line) => `${line}\n`);
  await appendFile(file, others.join(''), { mode: 0o600, flush: true });
}

/**
 * Copies the avatars of a backup whose users are in the restored database. Returns their number.
 * @throws OperatorError if one is missing
 */
export async function restoreAvatars(
  store: BackupStore,
  name: string,
  engine: Engine,
  avatars: AvatarStore,
): Promise<number> {
  const used = new Set(await listAvatars(engine));
  const names = (await readAvatarList(store, name)).filter((each) => used.has(each));
  await forEachConcurrently(names, async (each) => {
    const bytes = await store.read('avatars', each);
    if (!bytes) throw new OperatorError(`The avatar ${each} of the backup ${name} is missing.`);
    await avatars.put(each, bytes);
  });
  return names.length;
}
