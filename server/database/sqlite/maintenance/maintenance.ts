import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Database } from '../../engine.ts';
import { DictionaryRefresh } from '../../maintenance/dictionary-refresh.ts';
import type { Maintenance, MaintenanceTasks } from '../../maintenance/run-thread.ts';
import { isUnavailable } from '../errors.ts';
import { checkpointWal } from '../wal.ts';
import { Purger } from './purge.ts';
import { mergeWordIndex } from './word-index-merge.ts';

/** Time between two steps of a rebuild, for waiting writers to acquire the write lock. */
const STEP_INTERVAL_MS = 5;

/**
 * Erases deleted rows, indexes messages, merges the word index, overwrites deleted content, refreshes the dictionary and runs
 * checkpoints.
 */
export class SqliteMaintenance implements Maintenance {
  readonly #db: Database;
  readonly #stopping: AbortSignal;
  readonly #purger: Purger;
  readonly #tasks: MaintenanceTasks;
  readonly #dictionaryRefresh: DictionaryRefresh;
  /** The last data version for which all work is done that is due. */
  #handledVersion: number | undefined;
  /** When a purge is due that was not in the last round, by `Date.now()`. */
  #nextPurgeAt = Number.POSITIVE_INFINITY;

  /** @param recordErasures see `erasure-journal.ts`; not for a copy of the search index */
  constructor(
    db: Database,
    file: string,
    stopping: AbortSignal,
    tasks: MaintenanceTasks,
    recordErasures?: () => Promise<void>,
  ) {
    this.#db = db;
    this.#stopping = stopping;
    this.#tasks = tasks;
    this.#dictionaryRefresh = new DictionaryRefresh(tasks.refreshDictionary);
    this.#purger = new Purger(db, file, tasks.refreshDictionary, stopping, recordErasures);
  }

  /** Does pending work. If the disk is full or the file is locked, the next round retries it. */
  async runRound(): Promise<void> {
    try {
      await this.#runRound();
    } catch (error) {
      if (!isUnavailable(error)) throw error;
    }
  }

  async #runRound(): Promise<void> {
    // Read before the work, so that a write during this round causes another round.
    const version = await dataVersion(this.#db);
    if (version === this.#handledVersion && Date.now() < this.#nextPurgeAt) return;
    // Read before the erasure, which may miss the rows of a later request.
    const pending = await this.#purger.readPending();
    while (!this.#stopping.aborted && (await this.#tasks.fillIndex?.())) {
      await mergeWordIndex(this.#db, this.#stopping);
      await checkpointWal(this.#db);
      await sleep(STEP_INTERVAL_MS);
    }
    const hasErasedAll = await this.#tasks.eraseDeletedRows();
    const isDue = pending !== undefined && pending.dueAt <= Date.now();
    this.#nextPurgeAt = pending && !isDue ? pending.dueAt : Number.POSITIVE_INFINITY;
    let hasPurgedAll = !isDue;
    if (isDue && hasErasedAll && !this.#purger.isPausing) {
      hasPurgedAll = await this.#purger.purge(pending);
    } else {
      await mergeWordIndex(this.#db, this.#stopping);
    }
    const isDictionaryPostponed = this.#dictionaryRefresh.isPausing;
    if (!isDictionaryPostponed && !this.#stopping.aborted) await this.#dictionaryRefresh.run();
    await checkpointWal(this.#db);
    // Last, because an error ends the round.
    const hasIndexedAll = (await this.#tasks.indexMessages?.()) ?? true;
    const isPostponed = !hasErasedAll || !hasIndexedAll || !hasPurgedAll || isDictionaryPostponed;
    if (!this.#stopping.aborted && !isPostponed) this.#handledVersion = version;
  }
}

/** Returns a number that changes when another connection writes to the database. */
async function dataVersion(db: Database): Promise<number | undefined> {
  const { rows } = await sql<{ data_version: number }>`PRAGMA data_version`.execute(db);
  return rows[0]?.data_version;
}
