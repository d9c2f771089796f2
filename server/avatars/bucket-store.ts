import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BucketLocation } from '../config.ts';
import { OperatorError } from '../errors.ts';
import { type Bucket, BucketError, openBucket } from '../storage/bucket.ts';
import {
  claimStore,
  MARKER_NAME,
  type MarkedStore,
  MarkerError,
} from '../storage/database-marker.ts';
import {
  type AvatarStore,
  assertAvatarName,
  avatarUrls,
  cacheControlOf,
  DEFAULT_AVATAR_FILE,
  DEFAULT_AVATAR_NAME,
  isAvatarName,
  MIN_UNUSED_AGE_MS,
} from './store.ts';

/** The pause of a scan after each page of up to 1,000 objects. */
const SCAN_PAUSE_MS = 50;

/**
 * Opens an avatar store in a bucket. The bucket also contains the default avatar, so that a CDN can serve every avatar
 * URL from it. Several processes and machines may share the bucket, but not two databases, because the service deletes
 * avatars that its own users do not have. So the store marks the bucket with the id of its database, and refuses a
 * bucket with another id.
 *
 * Region and credentials come from the standard sources of the AWS SDK.
 * @param databaseId see `readDatabaseId`
 * @param baseUrl absolute URL without a trailing slash, under which the avatars are served
 * @param onUnavailable called if the bucket is temporarily unavailable; the store is opened anyway
 * @throws OperatorError if the bucket does not exist, refuses the credentials or belongs to another database
 */
export async function openAvatarBucket(
  location: BucketLocation,
  databaseId: string,
  baseUrl: string,
  onUnavailable: (error: BucketError) => void,
): Promise<AvatarStore> {
  const bucket = openBucket(location, 'avatar bucket');
  const put = (name: string, bytes: Uint8Array) =>
    bucket.put(name, bytes, { contentType: 'image/webp', cacheControl: cacheControlOf(name) });

  let isClaimed = false;
  const claim = async () => {
    isClaimed = false;
    await claimStore(markedBucket(bucket, location.name), databaseId);
    isClaimed = true;
  };

  let hasDefault = false;
  /** Writes the default avatar unless it is up to date. */
  const putDefault = async () => {
    if (hasDefault) return;
    const bytes = await readFile(DEFAULT_AVATAR_FILE);
    const stored = await bucket.read(DEFAULT_AVATAR_NAME);
    if (!stored?.bytes.equals(bytes)) await put(DEFAULT_AVATAR_NAME, bytes);
    hasDefault = true;
  };

  try {
    // Lists first, because reading from a missing bucket looks like a missing object on some storages.
    await bucket.list(1);
    await claim();
    await putDefault();
  } catch (error) {
    if (!(error instanceof BucketError)) throw error;
    if (!error.isTemporary) throw new OperatorError(explain(error));
    onUnavailable(error);
  }

  return {
    ...avatarUrls(baseUrl),
    source: {
      async read(name) {
        assertAvatarName(name);
        return bucket.read(name);
      },
    },

    async put(name, bytes) {
      assertAvatarName(name);
      // The last claim failed, at the start or in a scan, or a scan is repeating it.
      if (!isClaimed) await claim();
      await put(name, bytes);
    },

    async remove(name) {
      assertAvatarName(name);
      // Databases that were filled from the same export have avatars with the same names. Without a claim, this could
      // delete an avatar of another database.
      if (!isClaimed) await claim();
      await bucket.remove(name);
    },

    async removeUnused(findUsed, signal) {
      // Repeated, because the bucket can have been unavailable at the start, or the operator can have replaced the
      // marker. A scan takes minutes, so each page repeats it, too.
      await claim();
      await putDefault();
      let removed = 0;
      let lastKey: string | undefined;
      while (!signal.aborted) {
        const { objects, hasMore } = await bucket.list(1_000, lastKey);
        const isOld = (modifiedAt: Date | undefined) =>
          modifiedAt !== undefined && modifiedAt.getTime() < Date.now() - MIN_UNUSED_AGE_MS;
        const old = objects
          .filter(({ key, modifiedAt }) => isAvatarName(key) && isOld(modifiedAt))
          .map(({ key }) => key);
        const used = await findUsed(old);
        for (const name of old) {
          if (signal.aborted) return removed;
          if (used.has(name)) continue;
          await bucket.remove(name);
          removed += 1;
        }
        lastKey = objects.at(-1)?.key;
        if (!hasMore || lastKey === undefined) return removed;
        await sleep(SCAN_PAUSE_MS);
        await claim();
      }
      return removed;
    },

    isUnavailable: (error) => error instanceof BucketError || error instanceof MarkerError,
  };
}

function markedBucket(bucket: Bucket, name: string): MarkedStore {
  const headers = { contentType: 'text/plain', cacheControl: 'no-store' };
  return {
    description: `The avatar bucket ${name}`,
    content: 'avatars',
    markerDescription: `the object ${MARKER_NAME}`,
    advice: 'Use another bucket.',
    read: async () => (await bucket.read(MARKER_NAME))?.bytes,
    create: (bytes) => bucket.create(MARKER_NAME, bytes, headers),
  };
}

function explain({ message }: BucketError): string {
  return `${message} Check AVATARS_BUCKET, AVATARS_ENDPOINT, AWS_REGION and the credentials of the AWS SDK.`;
}
