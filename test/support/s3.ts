import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readdir, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CreateBucketCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import { MARKER_NAME } from '../../server/storage/database-marker.ts';
import { findGoProgram } from './go-programs.ts';
import { freePort } from './ports.ts';
import { startProcess } from './processes.ts';

const START_TIMEOUT_MS = 30_000;
const HOUR_MS = 3_600_000;

/** Versity Gateway, an S3 server. */
const executable = findGoProgram('versitygw', 'github.com/versity/versitygw/cmd/versitygw@v1.8.0');

/** Without an S3 server, the tests that need it are skipped. */
export const hasS3Server = executable !== undefined;

/** The variables from which the AWS SDK reads its region and credentials. */
export const awsEnvironment = {
  AWS_REGION: 'eu-central-1',
  AWS_ACCESS_KEY_ID: 'space-service',
  AWS_SECRET_ACCESS_KEY: 'correct-horse-battery',
};

/** An S3 server of its own, with its data in a temporary folder. */
export interface S3Server extends AsyncDisposable {
  url: string;
  client: S3Client;
  /** Creates an empty bucket and returns the settings to use it. */
  createBucket(): Promise<BucketSettings>;
  /** Returns the keys of at most 1,000 objects in ascending order, without the marker of the database. */
  listKeys(bucket: string): Promise<string[]>;
  /** Makes all objects of a bucket look two hours old. */
  makeOld(bucket: string): Promise<void>;
  /** Starts the server again, with the same data and address. */
  start(): Promise<void>;
  /** Kills the server. Its address then refuses connections. */
  kill(): Promise<void>;
}

export interface BucketSettings extends Record<string, string> {
  AVATARS_BUCKET: string;
  AVATARS_ENDPOINT: string;
}

export async function startS3Server(): Promise<S3Server> {
  const folder = await mkdtemp(join(tmpdir(), 's3-'));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const { AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY } = awsEnvironment;
  const client = new S3Client({
    endpoint: url,
    forcePathStyle: true,
    region: AWS_REGION,
    credentials: { accessKeyId: AWS_ACCESS_KEY_ID, secretAccessKey: AWS_SECRET_ACCESS_KEY },
  });
  await Promise.all(['buckets', 'metadata'].map((name) => mkdir(join(folder, name))));
  // Metadata in files, because a temporary folder may lack extended attributes.
  const backend = ['posix', '--sidecar', join(folder, 'metadata'), join(folder, 'buckets')];
  const args = ['--port', `127.0.0.1:${port}`, '--region', AWS_REGION, '--keep-alive', '--quiet'];
  const run = () =>
    startProcess(executable as string, [...args, ...backend], {
      ROOT_ACCESS_KEY: AWS_ACCESS_KEY_ID,
      ROOT_SECRET_KEY: AWS_SECRET_ACCESS_KEY,
    });
  let running: ReturnType<typeof run>;
  const server: S3Server = {
    url,
    client,
    async createBucket() {
      const name = `avatars-${randomUUID()}`;
      await client.send(new CreateBucketCommand({ Bucket: name }));
      return { AVATARS_BUCKET: name, AVATARS_ENDPOINT: url };
    },
    async listKeys(bucket) {
      const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: bucket }));
      const keys = Contents.map(({ Key }) => Key as string);
      return keys.filter((key) => key !== MARKER_NAME).sort();
    },
    async makeOld(bucket) {
      const twoHoursAgo = new Date(Date.now() - 2 * HOUR_MS);
      // The server stores each object as a file.
      const objects = join(folder, 'buckets', bucket);
      for (const key of await readdir(objects)) {
        await utimes(join(objects, key), twoHoursAgo, twoHoursAgo);
      }
    },
    async start() {
      running = run();
      const timeout = AbortSignal.timeout(START_TIMEOUT_MS);
      while (!(await fetch(url, { signal: timeout }).catch(() => undefined))) {
        if (!running.isRunning() || timeout.aborted) {
          throw new Error(`The S3 server does not start:\n${running.output()}`);
        }
        await sleep(20);
      }
    },
    kill: () => running.kill(),
    async [Symbol.asyncDispose]() {
      await running.kill();
      client.destroy();
      await rm(folder, { recursive: true });
    },
  };
  await using failed = new AsyncDisposableStack();
  failed.use(server);
  await server.start();
  failed.move();
  return server;
}
