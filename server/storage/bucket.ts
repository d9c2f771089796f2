import { createReadStream, createWriteStream } from 'node:fs';
import { addAbortSignal, type Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import type { BucketLocation } from '../config.ts';

/** Maximum time of one operation on the bucket, including its retry. Files have no limit. */
const OPERATION_TIMEOUT_MS = 5_000;

/** Short enough that an operation has time for a second attempt. */
const CONNECTION_TIMEOUT_MS = 2_000;

const MAX_ATTEMPTS = 2;

/** Of a file that is uploaded in parts. S3 accepts 10,000 of them, so a file can have 640 GB. */
const PART_BYTES = 64 * 1024 * 1024;

/** HTTP statuses of a conditional write. */
const OBJECT_EXISTS = 412;
const CONCURRENT_WRITE = 409;
const NOT_IMPLEMENTED = 501;

/** A bucket of an S3-compatible storage. Every operation throws a BucketError if it fails. */
export interface Bucket {
  put(key: string, bytes: Uint8Array, headers: ObjectHeaders): Promise<void>;
  /** Like `put`, but does nothing if the object exists. */
  create(key: string, bytes: Uint8Array, headers: ObjectHeaders): Promise<void>;
  /** Returns undefined if there is no such object. */
  read(key: string): Promise<StoredObject | undefined>;
  /** Does nothing if there is no such object. */
  remove(key: string): Promise<void>;
  /** Lists objects in the order of their keys. */
  list(maxObjects: number, afterKey?: string, prefix?: string): Promise<ObjectList>;
  /** Uploads a file of any size. The object appears once it is complete. */
  upload(key: string, file: string): Promise<void>;
  /** Downloads an object into a file, which it creates or replaces. */
  download(key: string, file: string): Promise<void>;
}

export interface ObjectHeaders {
  contentType: string;
  cacheControl: string;
}

export interface StoredObject {
  bytes: Buffer;
  modifiedAt: Date;
}

export interface ObjectList {
  objects: { key: string; modifiedAt: Date | undefined; bytes: number }[];
  hasMore: boolean;
}

/** An operation on the bucket failed. */
export class BucketError extends Error {
  /** Whether a retry may succeed with the same settings. */
  readonly isTemporary: boolean;

  /** @param bucket its purpose and name, such as `avatar bucket spaces-avatars` */
  constructor(bucket: string, cause: unknown) {
    // Without `cause`, because the logger would append its message, which repeats the reason.
    super(`The ${bucket} cannot be used: ${reasonOf(cause)}`);
    this.name = 'BucketError';
    this.isTemporary = isTemporary(cause);
  }
}

/**
 * Returns the bucket without a request to the storage, so it may not exist.
 * @param purpose the kind of bucket, for error messages
 */
export function openBucket(
  { name, endpoint }: BucketLocation,
  purpose: 'avatar bucket' | 'backup bucket',
): Bucket {
  const client = new S3Client({
    // Storages other than AWS rarely have a host name for each bucket.
    ...(endpoint !== null && { endpoint, forcePathStyle: true }),
    maxAttempts: MAX_ATTEMPTS,
    requestHandler: { connectionTimeout: CONNECTION_TIMEOUT_MS },
    // Many storages do not support the checksums that the SDK adds by default.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });

  const explain = async <T>(operation: Promise<T>): Promise<T> => {
    try {
      return await operation;
    } catch (error) {
      throw new BucketError(`${purpose} ${name}`, error);
    }
  };
  const attempt = <T>(operation: (abortSignal: AbortSignal) => Promise<T>): Promise<T> =>
    explain(operation(AbortSignal.timeout(OPERATION_TIMEOUT_MS)));

  const inputOf = (
    key: string,
    bytes: Uint8Array,
    { contentType, cacheControl }: ObjectHeaders,
  ) => ({
    Bucket: name,
    Key: key,
    Body: bytes,
    ContentType: contentType,
    CacheControl: cacheControl,
  });

  return {
    put: (key, bytes, headers) =>
      attempt(async (abortSignal) => {
        const command = new PutObjectCommand(inputOf(key, bytes, headers));
        await client.send(command, { abortSignal });
      }),

    create: (key, bytes, headers) =>
      attempt(async (abortSignal) => {
        const input = inputOf(key, bytes, headers);
        try {
          const command = new PutObjectCommand({ ...input, IfNoneMatch: '*' });
          await client.send(command, { abortSignal });
        } catch (error) {
          const status = (error as ServiceError).$metadata?.httpStatusCode;
          if (status === OBJECT_EXISTS || status === CONCURRENT_WRITE) return;
          if (status !== NOT_IMPLEMENTED) throw error;
          // The storage has no conditional writes.
          await client.send(new PutObjectCommand(input), { abortSignal });
        }
      }),

    read: (key) =>
      attempt(async (abortSignal) => {
        try {
          const command = new GetObjectCommand({ Bucket: name, Key: key });
          const { Body, LastModified } = await client.send(command, { abortSignal });
          // The command aborts only the wait for the headers, so the body needs the signal, too.
          const body = addAbortSignal(abortSignal, Body as Readable);
          return { bytes: await buffer(body), modifiedAt: LastModified ?? new Date(0) };
        } catch (error) {
          if (isMissing(error)) return undefined;
          throw error;
        }
      }),

    remove: (key) =>
      attempt(async (abortSignal) => {
        try {
          await client.send(new DeleteObjectCommand({ Bucket: name, Key: key }), { abortSignal });
        } catch (error) {
          if (!isMissing(error)) throw error;
        }
      }),

    list: (maxObjects, afterKey, prefix) =>
      attempt(async (abortSignal) => {
        const command = new ListObjectsV2Command({
          Bucket: name,
          MaxKeys: maxObjects,
          StartAfter: afterKey,
          Prefix: prefix,
        });
        const { Contents = [], IsTruncated = false } = await client.send(command, { abortSignal });
        const objects = Contents.map(({ Key, LastModified, Size = 0 }) => ({
          key: Key as string,
          modifiedAt: LastModified,
          bytes: Size,
        }));
        return { objects, hasMore: IsTruncated };
      }),

    upload: (key, file) =>
      explain(
        new Upload({
          client,
          params: { Bucket: name, Key: key, Body: createReadStream(file) },
          partSize: PART_BYTES,
          queueSize: 1,
        }).done(),
      ).then(() => {}),

    download: (key, file) =>
      explain(
        client
          .send(new GetObjectCommand({ Bucket: name, Key: key }))
          .then(({ Body }) => pipeline(Body as Readable, createWriteStream(file, { mode: 0o600 }))),
      ),
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

/** Whether there was no response in time, or the storage is overloaded. */
function isTemporary(error: unknown): boolean {
  const { name = '', code, $metadata } = error as ServiceError;
  const status = $metadata?.httpStatusCode;
  if (status !== undefined) return status >= 500 || status === 408 || status === 429;
  return code !== undefined || /^(Timeout|Abort)Error$/.test(name);
}

/**
 * Returns one sentence. A message can have several lines. It is empty if connections to several addresses failed
 * (`AggregateError`).
 */
function reasonOf(error: unknown): string {
  const { name = 'Error', code, message } = error as ServiceError;
  const [line] = (message || code || '').split('\n');
  // The name of a failed connection is just `Error`.
  const reason = line ? `${name}: ${line}`.replace(/^Error: /, '') : name;
  return reason.endsWith('.') ? reason : `${reason}.`;
}
