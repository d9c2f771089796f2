import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Engine } from '../../engine.ts';
import { DictionaryRefresh } from '../../maintenance/dictionary-refresh.ts';
import type { Maintenance, MaintenanceTasks } from '../../maintenance/run-thread.ts';
import { transactOnIndex } from '../../transaction.ts';
import { isUnavailable } from '../errors.ts';

/** If a process does not renew its lease for this long, another one takes over. Longer than a round takes. */
const LEASE_SECONDS = 120;

/**
 * Time without changes of the search index after which recent changes are merged into the blocks of the word index.
 * Searches then read less, and the words of deleted spaces are removed.
 */
const MERGE_INTERVAL_MS = 10_000;

/**
 * Erases deleted rows, merges changes of the word index and refreshes the dictionary, in one of the processes that
 * share the database. PostgreSQL itself runs vacuum and checkpoints.
 */
export class PostgresqlMaintenance implements Maintenance {
  readonly #engine: Engine;
  readonly #tasks: MaintenanceTasks;
  readonly #dictionaryRefresh: DictionaryRefresh;
  readonly #holder = randomUUID();
  readonly #mergeIntervalMs: number;
  #mergeCheckedAt = 0;
  /** The search revision at the last check. */
  #checkedRevision: number | undefined;

  constructor(engine: Engine, tasks: MaintenanceTasks, mergeIntervalMs = MERGE_INTERVAL_MS) {
    this.#engine = engine;
    this.#tasks = tasks;
    this.#dictionaryRefresh = new DictionaryRefresh(tasks.refreshDictionary);
    this.#mergeIntervalMs = mergeIntervalMs;
  }

  async runRound(): Promise<void> {
    try {
      if (!(await this.#acquireLease())) return;
      await this.#tasks.eraseDeletedRows();
      await this.#mergeChanges();
      if (!this.#dictionaryRefresh.isPausing) await this.#dictionaryRefresh.run();
    } catch (error) {
      if (!isUnavailable(error)) throw error;
    }
  }

  async #mergeChanges(): Promise<void> {
    if (performance.now() < this.#mergeCheckedAt + this.#mergeIntervalMs) return;
    this.#mergeCheckedAt = performance.now();
    const { rows } = await sql<{ revision: number; hasChanges: boolean }>`
      SELECT value AS revision, EXISTS (SELECT FROM word_changes) AS "hasChanges"
      FROM search_revision`.execute(this.#engine.db);
    const [{ revision, hasChanges } = { revision: 0, hasChanges: false }] = rows;
    // Frequent writes merge the changes themselves.
    const isQuiet = revision === this.#checkedRevision;
    this.#checkedRevision = revision;
    if (!isQuiet || !hasChanges) return;
    await transactOnIndex(this.#engine, (trx) => this.#engine.wordIndex.optimize(trx));
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
