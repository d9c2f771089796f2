import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as api from '../../../generated/sdk.gen.ts';
import { DEFAULT_AVATAR_NAME, isAvatarName } from '../../../server/avatars/store.ts';
import { MARKER_NAME } from '../../../server/storage/database-marker.ts';
import { EARLY_INDEX } from '../../support/early-index.ts';
import { assertIndexed, assertIntact } from '../../support/integrity.ts';
import { startServer } from '../../support/server.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { openCanaries } from './canaries.ts';
import { addGeneratedCanaries, importAccount, useAccount } from './erasure/account.ts';
import { BYSTANDER, startBystander } from './erasure/bystander.ts';
import { raceDeletions } from './erasure/races.ts';
import {
  countMessages,
  hasIndexedWord,
  isPurged,
  readOtherRows,
  readTrie,
} from './erasure/rows.ts';
import type { Trial } from './trial.ts';

/** Maximum time until erased bytes are overwritten. */
const PURGE_TIMEOUT_MS = 300_000;

/** Maximum latency of other users' reads and writes during a deletion. */
const MAX_LATENCY_MS = 1_000;

/**
 * Rate limits are on, because their counters could contain traces of an account. Those that the bystander would exceed
 * are raised or off.
 */
const SETTINGS = {
  ...EARLY_INDEX,
  RATE_LIMITS: 'on',
  PUBLIC_RATE_LIMIT: 'off',
  MESSAGES_PER_HOUR: '1000000',
  MESSAGES_PER_DAY: '1000000',
};

/** Maximum time until the dictionary contains the words of all spaces, and the index those of all messages. */
const INDEXING_TIMEOUT_MS = 60_000;

export const erasure: Trial = {
  promise: 'No byte of a deleted account remains, and other users are not affected.',
  runsOnPostgresql: false,
  measuresTime: true,
  async run(scale) {
    const erased = await eraseLargeAccount(scale === 'full' ? 100_000 : 1_000);
    const raced = await raceDeletions(scale === 'full' ? 100 : 5);
    return `${erased}; ${raced}`;
  },
};

async function eraseLargeAccount(messages: number): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), 'space-service-erasure-'));
  try {
    const canaries = openCanaries();
    await importAccount(dataDir, canaries, messages);
    await using server = await startServer({ DATA_DIR: dataDir, WORKERS: '2', ...SETTINGS });
    const gone = await useAccount(server.url, canaries);
    addGeneratedCanaries(dataDir, canaries);
    await waitUntil(
      'the messages are indexed',
      () => hasIndexedWord(dataDir, canaries.letters('folded text')),
      INDEXING_TIMEOUT_MS,
    );
    const before = await canaries.find(dataDir);
    const missing = canaries.kinds().filter((kind) => !isFormer(kind) && !before.has(kind));
    assert.deepEqual(missing, [], 'these canaries are not in the files before the deletion');
    await waitUntil(
      'the dictionary is built',
      () => readTrie(dataDir) !== undefined,
      INDEXING_TIMEOUT_MS,
    );
    const ending = Buffer.from(canaries.letters('title').slice(-5), 'utf16le');
    assert(readTrie(dataDir)?.includes(ending), 'the dictionary has no words of the account');

    const bystander = await startBystander(server.url);
    await sleep(messages >= 100_000 ? 5_000 : 1_000);
    const baseline = bystander.measure();
    const otherRows = readOtherRows(dataDir, gone.userId);
    const startedAt = performance.now();
    await api.deleteAccount({ client: gone.client, throwOnError: true });
    const deleted = performance.now() - startedAt;
    await waitUntil('the deleted bytes are overwritten', () => isPurged(dataDir), PURGE_TIMEOUT_MS);
    const purged = performance.now() - startedAt;
    // Waits for pending requests, so that the measurements include them.
    const sent = await bystander.stop();
    const busy = bystander.measure();
    assert(busy.slowest < MAX_LATENCY_MS, `${busy.summary} (before: ${baseline.summary})`);

    const remains = await canaries.find(dataDir);
    // Readers who follow the spaces of others learn from these ids that the messages were deleted.
    remains.delete('message_id');
    // The audit log has the ids of deleted accounts, and nothing else of them.
    const lines = server.output().split('\n');
    const others = lines.filter((line) => !line.includes('"audit":'));
    for (const [kind, text] of Object.entries(gone)) {
      if (typeof text !== 'string') continue;
      const searched = kind === 'userId' ? others : lines;
      assert(
        !searched.some((line) => line.includes(text)),
        `the log contains the ${kind} of the deleted account`,
      );
    }
    const left = readOtherRows(dataDir);
    for (const [name, rows] of otherRows) assert.deepEqual(left.get(name), rows, name);
    assert.equal(countMessages(dataDir, BYSTANDER), sent, 'every acknowledged message is stored');
    assertIntact(dataDir);
    await waitUntil(
      'the dictionary is rebuilt',
      () => readTrie(dataDir) !== undefined,
      INDEXING_TIMEOUT_MS,
    );
    await assertIndexed(dataDir);
    const avatars = (await readdir(join(dataDir, 'avatars'))).sort();
    assert.deepEqual(
      avatars.filter((name) => !isAvatarName(name)),
      [DEFAULT_AVATAR_NAME, MARKER_NAME],
      'other files than avatars',
    );
    assert.equal(
      avatars.filter(isAvatarName).length,
      1,
      `not only the avatar of another user: ${avatars}`,
    );

    const rows = [...otherRows.values()].reduce((sum, each) => sum + each.length, 0);
    const inSeconds = (milliseconds: number) => `${(milliseconds / 1000).toFixed(1)} s`;
    const summary = `an account of ${messages} messages deleted in ${inSeconds(deleted)} and overwritten after ${inSeconds(purged)}; the ${rows} rows of other users are unchanged; latencies of other users during the deletion: ${busy.summary} (before: ${baseline.summary}); of ${canaries.kinds().length} kinds of text`;
    assert.deepEqual(Object.fromEntries(remains), {}, `${summary}, these remain`);
    return `${summary} no part is in any file`;
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

/** Returns whether the text was already overwritten before the deletion, so that files need not contain it. */
function isFormer(kind: string): boolean {
  return kind.startsWith('former ');
}
