import { readFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { addAbortSignal } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import type { BucketLocation } from '../config.ts';
import { OperatorError } from '../errors.ts';
import {
  type AvatarStore,
  assertAvatarName,
  avatarUrls,
  cacheControlOf,
  DEFAULT_AVATAR_NAME,
  DEFAULT_AVATAR_URL,
  isAvatarName,
  MIN_UNUSED_AGE_MS,
  type StoredAvatar,
} from './store.ts';

/** Maximum time of one operation on the bucket, including its retry. */
const OPERATION_TIMEOUT_MS = 5_000;

/** Short enough that an operation has time for a second attempt. */
const CONNECTION_TIMEOUT_MS = 2_000;

const MAX_ATTEMPTS = 2;

/** The pause of a scan after each page of up to 1,000 objects. */
const SCAN_PAUSE_MS = 50;

/** An operation on the bucket failed. A later retry may succeed. */
export class BucketError extends Error {
  constructor(bucket: string, cause: unknown) {
    super(`The avatar bucket ${bucket} cannot be used: ${reasonOf(cause)}`, { cause });
    this.name = 'BucketError';
  }
}

/**
 * Opens an avatar store in a bucket. The bucket also contains the default avatar, so that a CDN can serve every avatar
 * URL from it. Several processes and machines may share the bucket, but not two services, because each deletes avatars
 * that its own users do not have.
 *
 * Region and credentials come from the standard sources of the AWS SDK.
 * @param baseUrl absolute URL without a trailing slash, under which the avatars are served
 * @param onUnavailable called if the bucket is temporarily unavailable; it is then opened all the same
 * @throws OperatorError if the bucket does not exist or refuses the credentials
 */
export async function openAvatarBucket(
  { name: bucket, endpoint }: BucketLocation,
  baseUrl: string,
  onUnavailable: (error: BucketError) => void,
): Promise<AvatarStore> {
  const client = new S3Client({
    // Storages other than AWS rarely have a host name for each bucket.
    ...(endpoint !== null && { endpoint, forcePathStyle: true }),
    maxAttempts: MAX_ATTEMPTS,
    requestHandler: { connectionTimeout: CONNECTION_TIMEOUT_MS },
    // Many storages do not support the checksums that the SDK adds by default.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });

  const attempt = async <T>(operation: (abortSignal: AbortSignal) => Promise<T>): Promise<T> => {
    try {
      return await operation(AbortSignal.timeout(OPERATION_TIMEOUT_MS));
    } catch (error) {
      throw new BucketError(bucket, error);
    }
  };

  const put = (key: string, bytes: Uint8Array) =>
    attempt(async (abortSignal) => {
      const command = new PutObjectCommand({
        Bucket: bucket,
        Key: key,
        Body: bytes,
        ContentType: 'image/webp',
        CacheControl: cacheControlOf(key),
      });
      await client.send(command, { abortSignal });
    });

  const read = (key: string): Promise<StoredAvatar | undefined> =>
    attempt(async (abortSignal) => {
      try {
        const command = new GetObjectCommand({ Bucket: bucket, Key: key });
        const { Body, LastModified } = await client.send(command, { abortSignal });
        // The command aborts only the wait for the headers, so the body needs the signal, too.
        const body = addAbortSignal(abortSignal, Body as Readable);
        return { bytes: await buffer(body), modifiedAt: LastModified ?? new Date(0) };
      } catch (error) {
        if (isMissing(error)) return undefined;
        throw error;
      }
    });

  const remove = (key: string) =>
    attempt(async (abortSignal) => {
      try {
        await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: key }), { abortSignal });
      } catch (error) {
        if (!isMissing(error)) throw error;
      }
    });

  const list = (maxKeys: number, startAfter?: string) =>
    attempt(async (abortSignal) => {
      const command = new ListObjectsV2Command({
        Bucket: bucket,
        MaxKeys: maxKeys,
        StartAfter: startAfter,
      });
      const { Contents = [], IsTruncated = false } = await client.send(command, { abortSignal });
      return { objects: Contents, hasMore: IsTruncated };
    });

  let hasDefault = false;
  /** Writes the default avatar unless it is up to date. */
  const putDefault = async () => {
    if (hasDefault) return;
    const bytes = await readFile(DEFAULT_AVATAR_URL);
    const stored = await read(DEFAULT_AVATAR_NAME);
    if (!stored?.bytes.equals(bytes)) await put(DEFAULT_AVATAR_NAME, bytes);
    hasDefault = true;
  };

  try {
    // Lists first, because reading from a missing bucket looks like a missing object on some storages.
    await list(1);
    await putDefault();
  } catch (error) {
    if (!(error instanceof BucketError)) throw error;
    if (!isTemporary(error.cause)) throw new OperatorError(explain(error));
    onUnavailable(error);
  }

  return {
    ...avatarUrls(baseUrl),
    source: {
      async read(name) {
        assertAvatarName(name);
        return read(name);
      },
    },

    async put(name, bytes) {
      assertAvatarName(name);
      await put(name, bytes);
    },

    async remove(name) {
      assertAvatarName(name);
      await remove(name);
    },

    async removeUnused(findUsed, signal) {
      // If the bucket was unavailable at the start.
      await putDefault();
      let lastKey: string | undefined;
      while (!signal.aborted) {
        const { objects, hasMore } = await list(1_000, lastKey);
        const isOld = (modifiedAt: Date | undefined) =>
          modifiedAt !== undefined && modifiedAt.getTime() < Date.now() - MIN_UNUSED_AGE_MS;
        const old = objects
          .filter(({ Key = '', LastModified }) => isAvatarName(Key) && isOld(LastModified))
          .map(({ Key }) => Key as string);
        const used = await findUsed(old);
        for (const name of old) {
          if (signal.aborted) return;
          if (!used.has(name)) await remove(name);
        }
        lastKey = objects.at(-1)?.Key;
        if (!hasMore || lastKey === undefined) return;
        await sleep(SCAN_PAUSE_MS);
      }
    },

    isUnavailable: (error) => error instanceof BucketError,
  };
}

interface ServiceError {
  name?: string;
  code?: string;
  message?: string;
  $metadata?: { httpStatusCode?: number };
}

function isMissing(error: unknown): boolean {
  return (error as ServiceError).name === 'NoSuchKey';
}

/** Whether a retry may succeed with the same settings: there was no response in time, or the storage is overloaded. */
function isTemporary(error: unknown): boolean {
  const { name = '', code, $metadata } = error as ServiceError;
  const status = $metadata?.httpStatusCode;
  if (status !== undefined) return status >= 500 || status === 408 || status === 429;
  return code !== undefined || /^(Timeout|Abort)Error$/.test(name);
}

function explain({ message }: BucketError): string {
  return `${message} Check AVATARS_BUCKET, AVATARS_ENDPOINT, AWS_REGION and the credentials of the AWS SDK.`;
}

/** Returns one sentence. An error can have no message (a connection to several addresses), or one of several lines. */
function reasonOf(error: unknown): string {
  const { name = 'Error', code, message } = error as ServiceError;
  const [line] = (message || code || '').split('\n');
  const reason = line ? `${name}: ${line}` : name;
  return reason.endsWith('.') ? reason : `${reason}.`;
}
