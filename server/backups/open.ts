import type { Config } from '../config.ts';
import type { BackupStore } from './store.ts';

/**
 * Opens the configured store; undefined if none is.
 * @throws the errors of the file system
 */
export async function openBackupStore({
  backupLocation,
  dataDir,
}: Pick<Config, 'backupLocation' | 'dataDir'>): Promise<BackupStore | undefined> {
  if (backupLocation === null) return undefined;
  if ('folder' in backupLocation) {
    const { openBackupFolder } = await import('./folder-store.ts');
    return openBackupFolder(backupLocation.folder);
  }
  // Loaded only here, because the AWS SDK is large.
  const { openBackupBucket } = await import('./bucket-store.ts');
  return openBackupBucket(backupLocation.bucket, dataDir);
}
