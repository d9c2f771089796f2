import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { BucketLocation } from '../config.ts';
import { BucketError, openBucket } from '../storage/bucket.ts';
import { claimStore, MARKER_NAME } from '../storage/database-marker.ts';
import type { BackupStore, Folder } from './store.ts';

const HEADERS = { contentType: 'application/octet-stream', cacheControl: 'no-store' };

const MAX_LISTED = 1_000;

/**
 * Returns a store in a bucket, without a request to it.
 * @param dataDir for temporary files
 */
export function openBackupBucket(location: BucketLocation, dataDir: string): BackupStore {
  const bucket = openBucket(location, 'backup bucket');
  const keyOf = (folder: Folder, name: string) => (folder === 'top' ? name : `${folder}/${name}`);
  /** Only one process makes backups, or restores one. */
  const temporaryFile = join(dataDir, 'backup.part');
  const withTemporaryFile = async <T>(use: () => Promise<T>): Promise<T> => {
    // A killed process may have left it.
    await rm(temporaryFile, { force: true });
    try {
      return await use();
    } finally {
      await rm(temporaryFile, { force: true });
    }
  };
  const read = async (folder: Folder, name: string) =>
    (await bucket.read(keyOf(folder, name)))?.bytes;

  return {
    async list(folder) {
      const prefix = folder === 'top' ? '' : `${folder}/`;
      const names: string[] = [];
      let lastKey: string | undefined;
      while (true) {
        const { objects, hasMore } = await bucket.list(MAX_LISTED, lastKey, prefix);
        for (const { key } of objects) names.push(key.slice(prefix.length));
        lastKey = objects.at(-1)?.key;
        if (!hasMore || lastKey === undefined) break;
      }
      return names.filter((name) => !name.includes('/'));
    },
    read,
    put: (folder, name, bytes) => bucket.put(keyOf(folder, name), bytes, HEADERS),
    putLarge: (name, write) =>
      withTemporaryFile(async () => {
        await write(temporaryFile);
        await bucket.upload(name, temporaryFile);
      }),
    useLarge: (name, use) =>
      withTemporaryFile(async () => {
        await bucket.download(name, temporaryFile);
        return await use(temporaryFile);
      }),
    remove: (folder, name) => bucket.remove(keyOf(folder, name)),
    claim: (databaseId) =>
      claimStore(
        {
          description: `The backup bucket ${location.name}`,
          content: 'backups',
          markerDescription: `the object ${MARKER_NAME}`,
          advice: 'Use another bucket.',
          read: () => read('top', MARKER_NAME),
          create: (bytes) => bucket.create(MARKER_NAME, bytes, HEADERS),
        },
        databaseId,
      ),
    isUnavailable: (error) => error instanceof BucketError && error.isTemporary,
  };
}
