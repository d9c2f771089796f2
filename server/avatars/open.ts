import { join } from 'node:path';
import type { Config } from '../config.ts';
import type { Engine } from '../database/engine.ts';
import { readDatabaseId } from '../database/secrets.ts';
import { openAvatarFolder } from './folder-store.ts';
import type { AvatarStore } from './store.ts';

/**
 * Opens the configured avatar store: a bucket, or the folder `avatars` in the data folder.
 * @param engine        the database of the users who have the avatars
 * @param onUnavailable called if the bucket is temporarily unavailable; the store is opened anyway
 * @throws OperatorError if the bucket does not exist or refuses the credentials, or if the bucket or folder belongs to
 *   another database
 * @throws the file system's errors
 */
export async function openAvatarStore(
  {
    dataDir,
    avatarBaseUrl,
    avatarBucket,
  }: Pick<Config, 'dataDir' | 'avatarBaseUrl' | 'avatarBucket'>,
  engine: Engine,
  onUnavailable: (error: Error) => void,
): Promise<AvatarStore> {
  const databaseId = await readDatabaseId(engine);
  if (avatarBucket === null) {
    return openAvatarFolder(join(dataDir, 'avatars'), databaseId, avatarBaseUrl);
  }
  // Loaded only here, because the AWS SDK is large.
  const { openAvatarBucket } = await import('./bucket-store.ts');
  return openAvatarBucket(avatarBucket, databaseId, avatarBaseUrl, onUnavailable);
}
