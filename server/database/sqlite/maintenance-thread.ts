import { statfs } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import type Sqlite from 'better-sqlite3';
import { sql } from 'kysely';
import { tasks } from '../../tasks.ts';
import type { Database, Engine } from '../engine.ts';
import { transact } from '../transaction.ts';
import { openFile } from './connection.ts';
import { connect, engineOn } from './engine.ts';
import { busy, full, isBusy, isUnavailable } from './errors.ts';
import type { MaintenanceSettings, Order, Outcome } from './maintenance.ts';

/** How often to look whether the file has changed, in milliseconds. */
const INTERVAL = 250;

/** Pages of index that one merge step writes: small enough that a writer hardly notices the wait. */
const STEP = 512;

/** Pages of write-ahead log that are worth copying into the file. */
const LOGGED = 1_000;

/** A pause between steps, so that writers get their turn, in milliseconds. */
const PAUSE = 5;

/** How long to wait until a rewriting that failed is tried again, in milliseconds. */
const LONG_PAUSE = 60_000;

/** How many times as long as rewriting the file took, to leave writers alone until it is rewritten again. */
const REST = 10;

/** Up to this size, in bytes, the file is rewritten by itself: writers wait for it a second or two. */
const MOST_REWRITTEN = 256 * 2 ** 20;

/** How long to wait for the files of discarded pictures to go, in milliseconds: their names go with them. */
const PICTURE_PATIENCE = 5_000;

const { file, maintains } = workerData as MaintenanceSettings;
const port = parentPort;
if (!port) throw new Error('This module runs as a worker thread.');

const db = connect(file);
const engine: Engine = engineOn(db, (task, target) => tasks[task](engine, target));

let stopping = false;
let running: Promise<unknown> = Promise.resolve();

port.on('message', (order: Order) => {
  if (order.kind === 'stop') stopping = true;
  else running = running.then(() => runTask(order));
});

async function runTask({ order, task, target }: Extract<Order, { kind: 'run' }>): Promise<void> {
  const outcome: Outcome = { order };
  try {
    // Nobody is left to be told: whoever asked has been sent away.
    if (stopping) throw busy();
    await tasks[task](engine, target);
  } catch (error) {
    const { name, message, code } = error as Error & { code?: string };
    outcome.error = { name, message, code };
  }
  port?.postMessage(outcome);
}

let seen: number | undefined;
let nextRewrite = 0;
while (!stopping) {
  if (maintains) {
    try {
      await maintain();
    } catch (error) {
      // A full disk or a lock that others hold for long: there is another round.
      if (!isUnavailable(error)) throw error;
    }
  }
  await sleep(INTERVAL);
}
await running;
await db.destroy();
port.close();

/** Overwrites what was erased, or else merges the index, and copies the log, if anything was written since the last look. */
async function maintain(): Promise<void> {
  // Asked for before anything is looked at: what is written meanwhile is for the next round.
  const version = await dataVersion();
  if (version === seen) return;
  const purges = await db.selectFrom('pending_purges').select('id').execute();
  const mustWait = purges.length > 0 && performance.now() < nextRewrite;
  if (purges.length > 0 && !mustWait) await purge(purges.map(({ id }) => id));
  else await mergeSteps();
  await copyLog();
  if (!stopping && !mustWait) seen = version;
}

/**
 * Leaves no byte of what was deleted in the files. Deleted words stay in the index until its old segments are merged
 * away, which a negative step begins for all of them. SQLite overwrites what it deletes, but not the copies that it
 * left behind when it once moved rows within their page: they go when the file is rewritten. Writers have to wait for
 * that, so a large file is left for the operator to rewrite. Overwritten pages stay in the log until it is cut.
 */
async function purge(requests: number[]): Promise<void> {
  await mergeStep(-STEP);
  await mergeSteps();
  await untilPicturesAreGone();
  if (stopping) return;
  const handle = openFile(file);
  try {
    const pages = handle.pragma('page_count', { simple: true }) as number;
    const pageSize = handle.pragma('page_size', { simple: true }) as number;
    const bytes = pages * pageSize;
    if (bytes <= MOST_REWRITTEN) await rewrite(handle, bytes);
    await cutLog(handle);
  } finally {
    handle.close();
  }
  if (stopping) return;
  await db.deleteFrom('pending_purges').where('id', 'in', requests).execute();
}

async function untilPicturesAreGone(): Promise<void> {
  const deadline = performance.now() + PICTURE_PATIENCE;
  while (!stopping && performance.now() < deadline) {
    const due = await db
      .selectFrom('discarded_avatars')
      .select('picture')
      .where('remove_after', '<=', new Date().toISOString())
      .limit(1)
      .execute();
    if (due.length === 0) return;
    await sleep(PAUSE);
  }
}

/**
 * Writes the file anew.
 * @param bytes its size: as much is needed for the new one, and again for the log that it goes through
 */
async function rewrite(handle: Sqlite.Database, bytes: number): Promise<void> {
  nextRewrite = performance.now() + LONG_PAUSE;
  const { bavail, bsize } = await statfs(file);
  if (bavail * bsize < 2.5 * bytes) {
    process.emitWarning(
      'What an erased account left in the gaps of the database stays until there is room to write the database anew.',
    );
    throw full();
  }
  // The new file is made in SQLite's folder for temporary files, and would else be made in memory.
  handle.pragma('temp_store = FILE');
  const begun = performance.now();
  while (!stopping) {
    try {
      handle.exec('VACUUM');
      break;
    } catch (error) {
      if (!isBusy(error)) throw error;
      await sleep(PAUSE);
    }
  }
  nextRewrite = performance.now() + REST * (performance.now() - begun);
}

/** Copies the write-ahead log into the file and empties it, once no reader needs it any more. */
async function cutLog(handle: Sqlite.Database): Promise<void> {
  while (!stopping) {
    const [result] = handle.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
    if (result?.busy === 0) return;
    await sleep(PAUSE);
  }
}

/** Copies the write-ahead log into the file once it has grown: nobody waits, and writers can begin it anew. */
async function copyLog(): Promise<void> {
  const checkpoint = sql<{ log: number; checkpointed: number }>;
  const { rows } = await checkpoint`PRAGMA wal_checkpoint(NOOP)`.execute(db);
  const { log = 0, checkpointed = 0 } = rows[0] ?? {};
  if (log - checkpointed >= LOGGED) await checkpoint`PRAGMA wal_checkpoint(PASSIVE)`.execute(db);
}

async function mergeSteps(): Promise<void> {
  while (!stopping && (await mergeStep(STEP))) {
    await copyLog();
    await sleep(PAUSE);
  }
}

/** One merge step. Answers whether there may be more to do. */
async function mergeStep(pages: number): Promise<boolean> {
  return transact(db, async (trx) => {
    const before = await totalChanges(trx);
    await sql`INSERT INTO word_index (word_index, rank) VALUES ('merge', ${sql.lit(pages)})`.execute(
      trx,
    );
    // FTS5's own sign that nothing was left to merge: fewer than two changes.
    return (await totalChanges(trx)) - before >= 2;
  });
}

/** A number that changes when another connection has written to the file. */
async function dataVersion(): Promise<number | undefined> {
  const { rows } = await sql<{ data_version: number }>`PRAGMA data_version`.execute(db);
  return rows[0]?.data_version;
}

async function totalChanges(connection: Database): Promise<number> {
  const { rows } = await sql<{ changes: number }>`SELECT total_changes() AS changes`.execute(
    connection,
  );
  return rows[0]?.changes ?? 0;
}
