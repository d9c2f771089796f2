import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { MARKER_NAME } from '../../../server/storage/database-marker.ts';
import { completeCommand } from '../../support/commands.ts';
import { assertIndexed, assertIntact, databaseFile } from '../../support/integrity.ts';
import { startServer } from '../../support/server.ts';
import type { Facts } from './ledger.ts';
import { readData } from './soundness.ts';
import { openTraffic } from './traffic.ts';
import type { Trial } from './trial.ts';

const WRITERS = 3;

/** Queries that must return the same results from the service and from a restored backup. */
const SEARCHES = [
  'tea',
  'astronomy bread',
  'ri',
  'lantern harbour stone',
  'space',
  'jaz',
  'chss',
  'clouds',
].map((q) => `/api/spaces/search?${new URLSearchParams({ q, limit: '100' })}`);
const TAGS = ['baking', 'C++', 'nachtmusik', '東京', 'a/b', 'node.js', 'nothing'].map(
  (tag) => `/api/spaces/tag/${encodeURIComponent(tag)}?limit=100`,
);

/** With a fixed URL, avatar URLs do not depend on the port of the server. */
const settings = { PUBLIC_URL: 'https://spaces.example.org' };

/** Backs up a data folder while the service writes to it, and restores the backup to another folder. */
interface Backup {
  create(from: string, to: string): Promise<void>;
  /** Whether a restored database has the id of the original one, so that it can use copied avatars as they are. */
  keepsDatabaseId: boolean;
  /** Whether the backup contains a fact of the ledger, by its key. */
  contains(key: string): boolean;
}

const backups: Record<string, Backup> = {
  'export and import': {
    async create(from, to) {
      const file = `${to}.ndjson`;
      await completeCommand('export', [file], { DATA_DIR: from });
      await completeCommand('import', [file], { DATA_DIR: to });
      await rm(file);
    },
    keepsDatabaseId: false,
    contains: (key) => !key.startsWith('report '),
  },
  'a copy': {
    async create(from, to) {
      await mkdir(to);
      await completeCommand('backup', [databaseFile(to)], { DATA_DIR: from });
    },
    keepsDatabaseId: true,
    contains: () => true,
  },
};

export const backup: Trial = {
  promise: 'A backup taken during writes is a consistent snapshot, and can be restored.',
  runsOnPostgresql: false,
  async run(scale) {
    const rounds = scale === 'full' ? 20 : 1;
    const folder = await mkdtemp(join(tmpdir(), 'space-service-backup-'));
    const dataDir = join(folder, 'data');
    try {
      await using server = await startServer({ DATA_DIR: dataDir, ...settings });
      const traffic = openTraffic();
      traffic.setUrl(server.url);
      const load = startWriting(Array.from({ length: WRITERS }, () => traffic.writer()));
      await sleep(scale === 'full' ? 10_000 : 2_000);

      let made = 0;
      let during = 0;
      for (let i = 0; i < rounds; i += 1) {
        for (const [name, { create, contains }] of Object.entries(backups)) {
          const to = join(folder, `restored-${i}-${name.split(' ')[0]}`);
          const since = traffic.ledger.position();
          const before = load.acknowledged();
          await Promise.race([create(dataDir, to), load.ended]);
          during += load.acknowledged() - before;
          const check = (facts: Facts) => traffic.ledger.check(facts, since, contains);
          await assertSnapshot(name, to, check);
          await rm(to, { recursive: true });
          made += 1;
        }
      }
      assert(during > made, 'too few writes during the backups');
      await load.stop();

      const searched = await assertSameResults(server.url, dataDir, folder);
      return `${made} backups during ${during} acknowledged writes: each contains everything acknowledged before it began, and a prefix of the writes of each writer; the last ones return the same ${searched.spaces} results of ${searched.requests} searches as the service`;
    } finally {
      await rm(folder, { recursive: true });
    }
  },
};

/** Runs all writers until they are stopped. */
function startWriting(writers: readonly (() => Promise<{ status: number | undefined }>)[]) {
  let acknowledged = 0;
  let isStopping = false;
  const ended = Promise.all(
    writers.map(async (write) => {
      while (!isStopping) {
        const { status } = await write();
        assert(status !== undefined && status < 500, `a write returned ${status}`);
        if (status < 300) acknowledged += 1;
        await sleep(5);
      }
    }),
  );
  // A backup or stop() rejects with the error. Until then, it must not count as unhandled.
  ended.catch(() => {});
  return {
    /** Rejects if a writer fails. */
    ended,
    acknowledged: () => acknowledged,
    async stop() {
      isStopping = true;
      await ended;
    },
  };
}

/** Asserts that the facts of a backup pass a check, and that it is consistent. */
async function assertSnapshot(name: string, dataDir: string, check: (facts: Facts) => void) {
  try {
    check((await readData({ dataDir })).facts);
    assertIntact(dataDir);
    await assertIndexed(dataDir);
  } catch (error) {
    throw new Error(`restored from ${name}: ${(error as Error).stack}`, { cause: error });
  }
}

/** Restores the current data with each kind of backup, and compares the results of searches. */
async function assertSameResults(url: string, dataDir: string, folder: string) {
  let requests = 0;
  let spaces = 0;
  const facts = (await readData({ dataDir })).facts;
  for (const [name, { create, keepsDatabaseId, contains }] of Object.entries(backups)) {
    const to = join(folder, `last-${name.split(' ')[0]}`);
    await create(dataDir, to);
    await cp(join(dataDir, 'avatars'), join(to, 'avatars'), { recursive: true });
    if (!keepsDatabaseId) await rm(join(to, 'avatars', MARKER_NAME));
    await using restored = await startServer({ DATA_DIR: to, ...settings });
    const expected = sorted(facts).filter(([key]) => contains(key));
    assert.deepEqual(sorted((await readData({ dataDir: to })).facts), expected);
    for (const path of [...SEARCHES, ...TAGS]) {
      const [actual, expected] = await Promise.all([search(restored.url, path), search(url, path)]);
      assert.deepEqual(actual, expected, `${path}, restored from ${name}`);
      requests += 1;
      spaces += actual.length;
    }
    for (const [key, avatar] of facts) {
      if (!key.startsWith('avatar ')) continue;
      assert.equal((await fetch(`${restored.url}/avatars/${avatar}`)).status, 200);
    }
  }
  assert(spaces > 0, 'the searches found nothing');
  return { requests, spaces };
}

/** Returns the results of a search. */
async function search(url: string, path: string): Promise<unknown[]> {
  const response = await fetch(url + path);
  assert.equal(response.status, 200);
  return (await response.json()) as unknown[];
}

function sorted(facts: Facts): [string, string][] {
  return [...facts].sort(([a], [b]) => (a < b ? -1 : 1));
}
