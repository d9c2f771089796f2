import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Database } from '../../engine.ts';
import {
  DICTIONARY_PAUSE_FACTOR,
  type Maintenance,
  type MaintenanceTasks,
} from '../../maintenance/thread.ts';
import { isUnavailable } from '../errors.ts';

/** If a process does not renew its lease for this long, another one takes over. Longer than a round takes. */
const LEASE_SECONDS = 120;

/**
 * Erases deleted rows and refreshes the dictionary, in one of the processes that share the database. PostgreSQL itself
 * runs vacuum and checkpoints.
 */
export class PostgresqlMaintenance implements Maintenance {
  readonly #db: Database;
  readonly #tasks: MaintenanceTasks;
  readonly #holder = randomUUID();
  #dictionaryPausesUntil = 0;

  constructor(db: Database, tasks: MaintenanceTasks) {
    this.#db = db;
    this.#tasks = tasks;
  }

  async runRound(): Promise<void> {
    try {
      if (!(await this.#acquireLease())) return;
      await this.#tasks.eraseDeletedRows();
      await this.#refreshDictionary();
    } catch (error) {
      if (!isUnavailable(error)) throw error;
    }
  }

  async #refreshDictionary(): Promise<void> {
    if (performance.now() < this.#dictionaryPausesUntil) return;
    const startedAt = performance.now();
    await this.#tasks.refreshDictionary();
    const durationMs = performance.now() - startedAt;
    this.#dictionaryPausesUntil = performance.now() + DICTIONARY_PAUSE_FACTOR * durationMs;
  }

  /**
   * Acquires or renews the lease. A row instead of a lock, because a lock would occupy a connection.
   * @returns false if another process holds it
   */
  async #acquireLease(): Promise<boolean> {
    const { numAffectedRows } = await sql`
      UPDATE maintenance_lease
      SET holder = ${this.#holder}, expires_at = now() + make_interval(secs => ${LEASE_SECONDS}::int)
      WHERE holder = ${this.#holder} OR expires_at < now()`.execute(this.#db);
    return numAffectedRows === 1n;
  }
}
