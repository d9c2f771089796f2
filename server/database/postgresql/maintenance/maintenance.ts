import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Database } from '../../engine.ts';
import {
  DICTIONARY_PAUSE_FACTOR,
  type Maintenance,
  type MaintenanceTasks,
} from '../../maintenance/thread.ts';
import { isUnavailable } from '../errors.ts';

/** How long a process runs the maintenance before another one may take over. Longer than a refresh takes. */
const LEASE_SECONDS = 120;

/**
 * Erases deleted rows and refreshes the dictionary, in one of the processes that share the database. PostgreSQL does
 * everything else.
 */
export class PostgresqlMaintenance implements Maintenance {
  readonly #db: Database;
  readonly #tasks: MaintenanceTasks;
  readonly #holder = randomUUID();
  #pausesUntil = 0;

  constructor(db: Database, tasks: MaintenanceTasks) {
    this.#db = db;
    this.#tasks = tasks;
  }

  async runRound(): Promise<void> {
    try {
      if (!(await this.#holdsLease())) return;
      await this.#tasks.eraseDeletedRows();
      await this.#refreshDictionary();
    } catch (error) {
      if (!isUnavailable(error)) throw error;
    }
  }

  async #refreshDictionary(): Promise<void> {
    if (performance.now() < this.#pausesUntil) return;
    const startedAt = performance.now();
    await this.#tasks.refreshDictionary();
    const durationMs = performance.now() - startedAt;
    this.#pausesUntil = performance.now() + DICTIONARY_PAUSE_FACTOR * durationMs;
  }

  /** Acquires or renews the lease. A row instead of a lock, because a lock would keep a connection. */
  async #holdsLease(): Promise<boolean> {
    const { numAffectedRows } = await sql`
      UPDATE maintenance_lease
      SET holder = ${this.#holder}, expires_at = now() + make_interval(secs => ${LEASE_SECONDS}::int)
      WHERE holder = ${this.#holder} OR expires_at < now()`.execute(this.#db);
    return numAffectedRows === 1n;
  }
}
