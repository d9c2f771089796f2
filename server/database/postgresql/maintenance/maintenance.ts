import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Database } from '../../engine.ts';
import { DICTIONARY_PAUSE_FACTOR, type Maintenance } from '../../maintenance/thread.ts';
import { isUnavailable } from '../errors.ts';

/** Minimum time between two refreshes of the dictionary. */
const MIN_PAUSE_MS = 2_000;

/** How long a process runs the maintenance before another one may take over. Longer than a refresh takes. */
const LEASE_SECONDS = 120;

/** Refreshes the dictionary, in one of the processes that share the database. PostgreSQL does everything else. */
export class PostgresqlMaintenance implements Maintenance {
  readonly #db: Database;
  readonly #refreshDictionary: () => Promise<void>;
  readonly #holder = randomUUID();
  #pausesUntil = 0;

  constructor(db: Database, refreshDictionary: () => Promise<void>) {
    this.#db = db;
    this.#refreshDictionary = refreshDictionary;
  }

  async runRound(): Promise<void> {
    if (performance.now() < this.#pausesUntil) return;
    const startedAt = performance.now();
    try {
      if (await this.#holdsLease()) await this.#refreshDictionary();
    } catch (error) {
      if (!isUnavailable(error)) throw error;
    }
    const durationMs = performance.now() - startedAt;
    this.#pausesUntil =
      performance.now() + Math.max(MIN_PAUSE_MS, DICTIONARY_PAUSE_FACTOR * durationMs);
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
