import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Engine } from '../../engine.ts';
import { DictionaryRefresh } from '../../maintenance/dictionary-refresh.ts';
import type { Maintenance, MaintenanceTasks } from '../../maintenance/run-thread.ts';
import { transactOnSnapshot } from '../../transaction.ts';
import { isUnavailable } from '../errors.ts';
import { MAX_CHANGES } from '../word-index/changes.ts';

/** If a killed process no longer renews its lease, another one takes over after this time. */
const LEASE_SECONDS = 120;

/**
 * Time without changes of the search index after which even a few recent changes are merged into the blocks of the word
 * index. Searches then read less, and the words of deleted spaces are removed.
 */
const QUIET_INTERVAL_MS = 10_000;

/** Time between two merges during a refresh of the dictionary, which can take seconds. */
const MERGE_INTERVAL_MS = 250;

/**
 * Erases deleted rows, merges changes of the word index and refreshes the dictionary, in one of the processes that
 * share the database. PostgreSQL itself runs vacuum and checkpoints.
 */
export class PostgresqlMaintenance implements Maintenance {
  readonly #engine: Engine;
  readonly #stopping: AbortSignal;
  readonly #tasks: MaintenanceTasks;
  readonly #dictionaryRefresh: DictionaryRefresh;
  readonly #holder = randomUUID();
  readonly #quietIntervalMs: number;
  #quietCheckedAt = 0;
  /** The search revision at the last check. */
  #checkedRevision: number | undefined;

  constructor(
    engine: Engine,
    stopping: AbortSignal,
    tasks: MaintenanceTasks,
    quietIntervalMs = QUIET_INTERVAL_MS,
  ) {
    this.#engine = engine;
    this.#stopping = stopping;
    this.#tasks = tasks;
    this.#dictionaryRefresh = new DictionaryRefresh(tasks.refreshDictionary);
    this.#quietIntervalMs = quietIntervalMs;
  }

  async runRound(): Promise<void> {
    try {
      if (!(await this.#acquireLease())) return;
      await this.#tasks.eraseDeletedRows();
      await this.#mergeChanges();
      if (!this.#dictionaryRefresh.isPausing && !this.#stopping.aborted) {
        await this.#refreshDictionary();
      }
    } catch (error) {
      if (!isUnavailable(error)) throw error;
    }
  }

  /** Releases the lease, so that another process can take over at once. */
  async stop(): Promise<void> {
    try {
      await sql`
        UPDATE maintenance_lease SET expires_at = '-infinity'
        WHERE holder = ${this.#holder}`.execute(this.#engine.db);
    } catch (error) {
      if (!isUnavailable(error)) throw error;
    }
  }

  /** Refreshes the dictionary. Meanwhile, renews the lease and merges changes. */
  async #refreshDictionary(): Promise<void> {
    const ended = new AbortController();
    const refreshing = this.#dictionaryRefresh.run().finally(() => ended.abort());
    const merging = this.#mergeUntil(ended.signal);
    // Both end before one throws. Otherwise, the other one could still use the database when it is closed.
    await Promise.allSettled([refreshing, merging]);
    await Promise.all([refreshing, merging]);
  }

  async #mergeUntil(ended: AbortSignal): Promise<void> {
    while (!ended.aborted) {
      await sleep(MERGE_INTERVAL_MS, undefined, { signal: ended }).catch(() => {});
      if (ended.aborted) return;
      try {
        if (await this.#acquireLease()) await this.#mergeChanges();
      } catch (error) {
        // Later attempts can succeed, and the lease must be renewed.
        if (!isUnavailable(error)) throw error;
      }
    }
  }

  async #mergeChanges(): Promise<void> {
    const { rows } = await sql<{ revision: number; changes: number }>`
      SELECT value AS revision, (SELECT count(*) FROM word_changes) AS changes
      FROM search_revision`.execute(this.#engine.db);
    const [{ revision, changes } = { revision: 0, changes: 0 }] = rows;
    const isQuiet = this.#checkQuiet(revision);
    if (changes <= MAX_CHANGES && !(isQuiet && changes > 0)) return;
    // After a conflict, the next round tries again, or the next quiet check if there are only a few changes. A retry
    // like that of `transact` would stop all writers.
    await transactOnSnapshot(this.#engine, (trx) => this.#engine.wordIndex.optimize(trx));
  }

  /** Returns whether the search index has not changed since the last check. Checks only at intervals. */
  #checkQuiet(revision: number): boolean {
    if (performance.now() < this.#quietCheckedAt + this.#quietIntervalMs) return false;
    this.#quietCheckedAt = performance.now();
    const isQuiet = revision === this.#checkedRevision;
    this.#checkedRevision = revision;
    return isQuiet;
  }

  /**
   * Acquires or renews the lease. A row instead of a lock, because a lock would occupy a connection.
   * @returns false if another process holds it
   */
  async #acquireLease(): Promise<boolean> {
    const { numAffectedRows } = await sql`
      UPDATE maintenance_lease
      SET holder = ${this.#holder}, expires_at = now() + make_interval(secs => ${LEASE_SECONDS}::int)
      WHERE holder = ${this.#holder} OR expires_at < now()`.execute(this.#engine.db);
    return numAffectedRows === 1n;
  }
}
