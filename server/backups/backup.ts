import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openAvatarStore } from '../avatars/open.ts';
import type { AvatarStore } from '../avatars/store.ts';
import { listAvatars } from '../avatars/used-avatars.ts';
import type { Config } from '../config.ts';
import type { Engine } from '../database/engine.ts';
import { erasureJournal } from '../database/erasure-journal.ts';
import { databaseKind, openDatabase } from '../database/open.ts';
import { readDatabaseId } from '../database/secrets.ts';
import { OperatorError } from '../errors.ts';
import { recordBackup } from '../system/last-backup.ts';
import {
  avatarListOf,
  backupOf,
  completeBackups,
  databaseOf,
  newBackupName,
  timeOf,
} from './backup-names.ts';
import { openBackupStore } from './open.ts';
import { keptBackups, periodOf } from './retention.ts';
import type { BackupStore } from './store.ts';

/** In a store, a copy of the journal of deleted accounts, which a restore on another machine needs. */
export const JOURNAL_NAME = 'erased-accounts.txt';

/** Number of avatars that are copied at the same time. */
const MAX_CONCURRENT_COPIES = 8;

export interface FinishedBackup {
  name: string;
  /** Number of avatars that no earlier backup had. */
  newAvatars: number;
  /** The names of the backups that are no longer kept. */
  deleted: string[];
}

/**
 * Makes a backup of the database and the avatars, unless the current period has one, and deletes those that the rules
 * do not keep. Nothing is deleted before the new backup is complete. Only one process may do this.
 * @returns undefined if no backup is due
 * @throws OperatorError, or the errors of the store, the database or the file system
 */
export async function makeDueBackup(
  config: Config,
  now = new Date(),
): Promise<FinishedBackup | undefined> {
  const store = await openBackupStore(config);
  const shortest = config.backups[0];
  if (!store || !shortest) throw new OperatorError('BACKUPS is not set.');
  await using engine = await openDatabase(config, { purpose: 'command' });
  await store.claim(await readDatabaseId(engine));
  const period = periodOf(now, shortest.period);
  const earlier = completeBackups(await store.list('top'));
  if (earlier.some((name) => periodOf(timeOf(name) as Date, shortest.period) === period)) return;

  const name = newBackupName(now);
  const newAvatars = await copyEverything(config, engine, store, name);
  await recordBackup(config.dataDir);
  return { name, newAvatars, deleted: await deleteOthers(config, store, name) };
}

/** Returns the number of new avatars in the store. */
async function copyEverything(
  config: Config,
  engine: Engine,
  store: BackupStore,
  name: string,
): Promise<number> {
  const avatars = await openAvatarStore(config, engine, (error) => {
    throw error;
  });
  const stored = new Set(await store.list('avatars'));
  const copied = new Set<string>();
  let newAvatars = 0;
  const copyAvatars = async () => {
    const names = (await listAvatars(engine)).filter((each) => !copied.has(each));
    await forEachConcurrently(names, async (each) => {
      if (!stored.has(each)) {
        const bytes = await readAvatar(avatars, each);
        // Replaced or deleted since the query.
        if (!bytes) return;
        await store.put('avatars', each, bytes);
        newAvatars += 1;
      }
      copied.add(each);
    });
  };
  await copyAvatars();
  const journal = await readIfPresent(erasureJournal(config));
  if (journal) await store.put('top', JOURNAL_NAME, journal);
  const kind = await databaseKind(config);
  await store.putLarge(databaseOf(name), async (path) => {
    await kind.copy(config, path);
    // Users may have uploaded some before the copy.
    await copyAvatars();
    const list = [...copied].sort().map((each) => `${each}\n`);
    await store.put('top', avatarListOf(name), Buffer.from(list.join('')));
  });
  return newAvatars;
}

async function readAvatar({ source }: AvatarStore, name: string): Promise<Buffer | undefined> {
  if (!('folder' in source)) return (await source.read(name))?.bytes;
  return await readIfPresent(join(source.folder, name));
}

async function readIfPresent(file: string): Promise<Buffer | undefined> {
  try {
    return await readFile(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Deletes the backups that the rules do not keep, never the given one, and avatars that none of the others has. */
async function deleteOthers(
  { backups: rules }: Config,
  store: BackupStore,
  newest: string,
): Promise<string[]> {
  const files = await store.list('top');
  const complete = completeBackups(files);
  const times = new Map(complete.map((name) => [name, timeOf(name) as Date]));
  const keptTimes = keptBackups([...times.values()], rules);
  const kept = new Set([
    newest,
    ...complete.filter((name) => keptTimes.has(times.get(name) as Date)),
  ]);

  const deleted = complete.filter((name) => !kept.has(name));
  // The database first, so that no complete backup lacks its list.
  for (const name of deleted) await store.remove('top', databaseOf(name));
  for (const file of files) {
    const backup = backupOf(file);
    // Also those of backups that were interrupted.
    if (backup && !kept.has(backup)) await store.remove('top', file);
  }
  const needed = new Set<string>();
  for (const name of kept) {
    for (const avatar of await readAvatarList(store, name)) needed.add(avatar);
  }
  const unused = (await store.list('avatars')).filter((avatar) => !needed.has(avatar));
  await forEachConcurrently(unused, (avatar) => store.remove('avatars', avatar));
  return deleted;
}

/**
 * Returns the names of the avatars in a backup.
 * @throws OperatorError if the store lacks the list
 */
export async function readAvatarList(store: BackupStore, backup: string): Promise<string[]> {
  const list = await store.read('top', avatarListOf(backup));
  if (list) return list.toString().split('\n').filter(Boolean);
  throw new OperatorError(
    `${avatarListOf(backup)} is missing, so nothing says which avatars belong to the backup. Delete ${databaseOf(backup)}, or create an empty list.`,
  );
}

export async function forEachConcurrently<T>(
  items: readonly T[],
  work: (item: T) => Promise<void>,
): Promise<void> {
  const remaining = items.values();
  const workNext = async () => {
    // The iterator is shared, so each item is processed once.
    for (const item of remaining) await work(item);
  };
  await Promise.all(Array.from({ length: MAX_CONCURRENT_COPIES }, workNext));
}
