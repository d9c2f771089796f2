import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Engine } from '../../engine.ts';
import { recordErasures } from '../../erasure-journal.ts';
import type { Maintenance, MaintenanceTasks } from '../../maintenance/run-thread.ts';
import type { ThreadSettings } from '../../maintenance/thread-messages.ts';
import { SqliteMaintenance } from '../../sqlite/maintenance/maintenance.ts';
import { isUnavailable } from '../errors.ts';
import { pruneLog } from '../search-copy/log.ts';
import { SearchCopy } from '../search-copy/search-copy.ts';

/** If a killed process no longer renews its lease, another one takes over after this time. */
const LEASE_SECONDS = 120;

/** How often the copy of the search index is updated without searches, so that deleted texts leave it. */
const UPDATE_INTERVAL_MS = 1_000;

/** How often the log of changes is pruned, and the journal of deleted accounts is written. */
const CLEANUP_INTERVAL_MS = 60_000;

/**
 * Erases deleted rows and indexes messages, in one of the processes that share the database. On each machine, maintains the copy of the
 * search index. PostgreSQL itself runs vacuum and checkpoints.
 */
export class PostgresqlMaintenance implements Maintenance {
  readonly #engine: Engine;
  readonly #stopping: AbortSignal;
  readonly #tasks: MaintenanceTasks;
  readonly #journal: string | undefined;
  readonly #copy: SearchCopy | undefined;
  #copyMaintenance: { file: string; runRound(): Promise<void> } | undefined;
  readonly #holder = randomUUID();
  #updatedAt = -Infinity;
  #cleanedUpAt = -Infinity;

  /** @param settings without `indexFolder`, this process has no copy of the search index */
  constructor(
    engine: Engine,
    stopping: AbortSignal,
    tasks: MaintenanceTasks,
    { indexFolder, journal }: Pick<ThreadSettings, 'indexFolder' | 'journal'> = {},
  ) {
    this.#engine = engine;
    this.#stopping = stopping;
    this.#tasks = tasks;
    this.#journal = journal;
    if (indexFolder !== undefined && tasks.indexer) {
      this.#copy = new SearchCopy(indexFolder, engine.db, tasks.indexer);
    }
  }

  async runRound(): Promise<void> {
    // First, because a copy that cannot be maintained must not prevent it, for example on a full disk.
    await ignoreUnavailable(() => this.#maintainDatabase());
    const copy = this.#copy;
    if (copy) await ignoreUnavailable(() => copy.deleteIfDamaged(() => this.#maintainCopy(copy)));
  }

  /** Releases the lease, so that another process can take over at once. */
  async stop(): Promise<void> {
    await this.#copy?.close();
    await ignoreUnavailable(() =>
      sql`
        UPDATE maintenance_lease SET expires_at = '-infinity'
        WHERE holder = ${this.#holder}`.execute(this.#engine.db),
    );
  }

  async #maintainDatabase(): Promise<void> {
    if (!(await this.#acquireLease())) return;
    await this.#tasks.eraseDeletedRows();
    if (performance.now() > this.#cleanedUpAt + CLEANUP_INTERVAL_MS) {
      await pruneLog(this.#engine.db);
      this.#cleanedUpAt = performance.now();
      if (this.#journal !== undefined) await this.#recordErasures(this.#journal);
    }
    // Last, because an error ends the round.
    await this.#tasks.indexMessages?.();
  }

  /** Emits a warning if the journal cannot be written. */
  async #recordErasures(journal: string): Promise<void> {
    const { db } = this.#engine;
    try {
      await recordErasures(db, journal);
      // Nothing else happens to these rows. On SQLite, they are also requests to overwrite bytes.
      await db.deleteFrom('pending_purges').where('user_id_hash', 'is', null).execute();
    } catch (error) {
      if (isUnavailable(error)) throw error;
      process.emitWarning(
        `The hashes of deleted accounts could not be written. ${(error as Error).message}`,
      );
    }
  }

  async #maintainCopy(copy: SearchCopy): Promise<void> {
    if (performance.now() > this.#updatedAt + UPDATE_INTERVAL_MS) {
      await copy.maintain((reason) =>
        process.emitWarning(`The copy of the search index is repaired, because ${reason}.`),
      );
      this.#updatedAt = performance.now();
    }
    await this.#repeat(() => copy.addPending());
    if (this.#copyMaintenance?.file !== copy.file) {
      // Here, because it would delay the start of the server.
      await copy.check();
      const { file, db, engine } = copy;
      const maintenance = new SqliteMaintenance(db, file, this.#stopping, {
        refreshDictionary: () => this.#tasks.refreshDictionary(engine),
        eraseDeletedRows: () => this.#repeat(() => copy.removeHidden()),
      });
      this.#copyMaintenance = { file, runRound: () => maintenance.runRound() };
    }
    await this.#copyMaintenance.runRound();
  }

  /**
   * Repeats `work` for about a second until it returns false.
   * @returns whether it has
   */
  async #repeat(work: () => Promise<boolean>): Promise<boolean> {
    const deadline = performance.now() + UPDATE_INTERVAL_MS;
    while (!this.#stopping.aborted && performance.now() < deadline) {
      if (!(await work())) return true;
    }
    return false;
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

/** Runs `work`. The next round tries again if the database or the copy is unavailable. */
async function ignoreUnavailable(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!isUnavailable(error)) throw error;
  }
}
