import { existsSync } from 'node:fs';
import { sql } from 'kysely';
import type { Database, Engine, Indexer, IndexMark, IsChanged, SearchIndex } from '../../engine.ts';
import { HIDDEN_SPACES } from '../../hidden-spaces.ts';
import { decodeSnapshot, encodeSnapshot } from '../../snapshot.ts';
import { connect } from '../../sqlite/dialect.ts';
import { createEngine } from '../../sqlite/engine.ts';
import { isDamage } from '../../sqlite/errors.ts';
import { limitReads } from '../../sqlite/search-index.ts';
import type { Meter } from '../../sqlite/waiting.ts';
import { readSnapshot } from '../../transaction.ts';
import { beginEpoch } from '../epoch.ts';
import { applyChanges, isUnrelated, SPACES_PER_BATCH } from './changes.ts';
import type { Copy } from './contents.ts';
import { damage, deleteCopy, findCopy, prepareCopy } from './copy-file.ts';
import { type CopyState, readState } from './copy-state.ts';
import { removeHidden } from './hidden.ts';
import { readLogState, recordChanges } from './log.ts';
import { isNotReady, notReady } from './not-ready.ts';
import { addPending } from './pending.ts';
import { repair } from './repair.ts';
import { selectSpacesChangedBy } from './statements.ts';

/** A disk may damage every copy. */
const MAX_PREPARATIONS = 5;

/** How often maintenance advances the stored snapshot without changes. An old one would seem to be from before the log. */
const SNAPSHOT_REFRESH_MS = 10_000;

/**
 * Maximum length of a snapshot in a cursor, which must fit into a URL. Enough for a thousand open transactions; digits
 * are compressed to about half.
 */
const MAX_MARK_CHARACTERS = 4_000;

/** Longer than any query on a copy, except for a comparison. */
const CLOSE_DELAY_MS = 60_000;

type Mark = readonly [epoch: string, end: number, ...openDifferences: number[]];

/**
 * A copy of the search index in a SQLite file, which follows a PostgreSQL database. It stores the snapshot of the
 * database that it shows. All processes of a machine share the file, and each of them can update it.
 */
export class SearchCopy implements SearchIndex, Copy {
  readonly #folder: string;
  readonly source: Database;
  readonly indexer: Indexer;
  readonly #meter: Meter | undefined;
  #opened: { file: string; engine: Engine } | undefined;
  readonly #limitRead = limitReads();
  #running: Promise<void> | undefined;
  #waiting: Promise<void> | undefined;
  #refreshedAt = 0;

  /** @param folder prepared by `prepareCopy` */
  constructor(folder: string, source: Database, indexer: Indexer, meter?: Meter) {
    this.#folder = folder;
    this.source = source;
    this.indexer = indexer;
    this.#meter = meter;
  }

  /** @throws an error for which `Engine.isUnavailable` returns true if the file was deleted and is not created again yet */
  #open(): { file: string; engine: Engine } {
    if (this.#opened && existsSync(this.#opened.file)) return this.#opened;
    const file = findCopy(this.#folder);
    if (file === undefined) throw notReady();
    if (this.#opened) closeLater(this.#opened.engine);
    this.#opened = { file, engine: createEngine(connect(file, this.#meter)) };
    return this.#opened;
  }

  /** The file of the copy. Changes if it is damaged or deleted. */
  get file(): string {
    return this.#open().file;
  }

  /** The copy as a database of its own, for maintenance. */
  get engine(): Engine {
    return this.#open().engine;
  }

  get db(): Database {
    return this.engine.db;
  }

  read<T>(work: (snapshot: Database) => Promise<T>): Promise<T> {
    return this.deleteIfDamaged(() =>
      this.#limitRead(() =>
        readSnapshot(this.db, async (snapshot) => {
          // The copy may have been deleted since `update`.
          if ((await readState(snapshot)).phase !== 'complete') throw notReady();
          return work(snapshot);
        }),
      ),
    );
  }

  waitingReads(): number {
    return this.#limitRead.countWaiting();
  }

  /**
   * Runs `work` with the copy. If the copy proves to be damaged, deletes it, so that maintenance builds another one.
   * @throws an error for which `Engine.isUnavailable` returns true if it is damaged; errors of `work`
   */
  async deleteIfDamaged<T>(work: () => Promise<T>): Promise<T> {
    const opened = this.#opened;
    try {
      return await work();
    } catch (error) {
      // It has no tables if this process opened it after another one had deleted it.
      if (!isDamage(error)) throw error;
      // Another process may have replaced it already.
      const file = (opened ?? this.#opened)?.file;
      if (file !== undefined && existsSync(file)) {
        process.emitWarning(
          `The copy of the search index is built again, because it is damaged: ${(error as Error).message}`,
        );
        deleteCopy(file);
      }
      throw notReady();
    }
  }

  /**
   * Reads the whole file, in about 3 s per 700 MB. If it is damaged, deletes it. Otherwise, damage is noticed only by
   * searches that read it, and by some of them not at all.
   * @throws an error for which `Engine.isUnavailable` returns true if it is damaged
   */
  check(): Promise<void> {
    return this.deleteIfDamaged(async () => {
      const result = await sql<{ quick_check: string }>`PRAGMA quick_check(1)`.execute(this.db);
      const found = result.rows[0]?.quick_check;
      if (found !== 'ok') throw damage(String(found));
    });
  }

  record = recordChanges;

  /**
   * At most one question to PostgreSQL runs and one waits. A caller cannot use the running one, because it may have been
   * answered before the caller's last write.
   */
  update(): Promise<void> {
    if (!this.#running) {
      this.#running = this.deleteIfDamaged(() => this.#update()).finally(() => {
        this.#running = undefined;
      });
      return this.#running;
    }
    this.#waiting ??= this.#running
      .catch(() => {})
      .then(() => {
        this.#waiting = undefined;
        return this.update();
      });
    return this.#waiting;
  }

  async hasHiddenSpaces(snapshot: Database): Promise<boolean> {
    const { rows } = await sql`SELECT 1 FROM ${HIDDEN_SPACES} LIMIT 1`.execute(snapshot);
    return rows.length > 0;
  }

  async readMark(snapshot: Database): Promise<IndexMark> {
    const { epoch, snapshot: shown } = await readState(snapshot);
    return [epoch, ...encodeSnapshot(shown, MAX_MARK_CHARACTERS)] satisfies Mark;
  }

  async changesSince(snapshot: Database, mark: IndexMark): Promise<IsChanged | undefined> {
    const [epoch, ...encoded] = mark as Mark;
    const { min, end, open } = decodeSnapshot(encoded);
    const state = await readState(snapshot);
    if (epoch !== state.epoch || min <= state.bound) return undefined;
    const rows = await selectSpacesChangedBy(
      snapshot,
      open.map((xid) => ({ xid })),
    );
    const changed = new Set(rows.map(({ space_pk }) => space_pk));
    return ({ key, revision }) => revision >= end || changed.has(this.indexer.spacePkOf(key));
  }

  async isReady(): Promise<boolean> {
    try {
      return (await readState(this.db)).phase !== 'building';
    } catch (error) {
      if (isNotReady(error)) return false;
      throw error;
    }
  }

  async #update(): Promise<void> {
    for (;;) {
      const state = await readState(this.db);
      const log = await readLogState(this.source, state.snapshot);
      if (state.phase !== 'complete' || isUnrelated(state, log)) throw notReady();
      if (!log.hasChanges || (await this.#apply(state, []))) return;
    }
  }

  /**
   * Builds the copy, or repairs it if it cannot follow the log. Then adds the pending spaces.
   * @param onRepair called with the reason if it must be repaired
   * @param onProgress called with the number of spaces that are left to add
   */
  async prepare(
    onRepair: (reason: string) => void,
    onProgress: (spaces: number) => void,
  ): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.deleteIfDamaged(async () => {
          await this.maintain(onRepair);
          while (await removeHidden(this));
          while (await this.addPending(SPACES_PER_BATCH)) onProgress(await this.countPending());
        });
      } catch (error) {
        // It was damaged and is deleted now, or PostgreSQL was restarted meanwhile.
        if (!isNotReady(error) || attempt === MAX_PREPARATIONS) throw error;
      }
    }
  }

  /**
   * Creates the copy if it was deleted, repairs it if it cannot follow the log, and otherwise applies the changes, or
   * advances the stored snapshot.
   */
  async maintain(onRepair: (reason: string) => void): Promise<void> {
    if (findCopy(this.#folder) === undefined) {
      onRepair('its file is missing');
      await prepareCopy(this.#folder, this.indexer.version, onRepair);
    }
    const state = await readState(this.db);
    let log = await readLogState(this.source, state.snapshot);
    if (log.epoch === null) {
      await beginEpoch(this.source);
      log = await readLogState(this.source, state.snapshot);
    }
    if (isUnrelated(state, log)) {
      if (state.epoch !== '') {
        onRepair(
          state.epoch === log.epoch
            ? 'the database no longer has all changes since it was last updated'
            : 'the database was restarted, restored or replaced',
        );
      }
      await repair(this);
      return;
    }
    const isDue = performance.now() > this.#refreshedAt + SNAPSHOT_REFRESH_MS;
    if (log.hasChanges || isDue) await this.#apply(state, []);
  }

  /**
   * Adds a step of the pending spaces.
   * @returns false if there are none
   */
  addPending(limit?: number): Promise<boolean> {
    return addPending(this, (state, pending) => this.#apply(state, pending), limit);
  }

  /**
   * Removes a step of the spaces of suspended and deleted users. Results already omit them.
   * @returns false if there are none
   */
  removeHidden(): Promise<boolean> {
    return removeHidden(this);
  }

  async countPending(): Promise<number> {
    const count = () =>
      sql<{ count: number }>`
        SELECT (SELECT count(*) FROM pending_spaces)
          + (SELECT coalesce(sum(changes), 0) FROM pending_transactions) AS count`.execute(this.db);
    try {
      const { rows } = await this.deleteIfDamaged(count);
      return rows[0]?.count ?? 0;
    } catch (error) {
      // Until maintenance has created the copy again, nothing is pending in it.
      if (isNotReady(error)) return 0;
      throw error;
    }
  }

  /** See `applyChanges`. */
  async #apply(state: CopyState, pending: readonly number[]): Promise<boolean> {
    const isApplied = await applyChanges(this, state, pending);
    if (isApplied) this.#refreshedAt = performance.now();
    return isApplied;
  }

  async close(): Promise<void> {
    await this.#opened?.engine.close();
  }
}

/** Closes the engine of a deleted file, whose space the disk keeps until then, when no query can still use it. */
function closeLater(engine: Engine): void {
  setTimeout(() => engine.close().catch(process.emitWarning), CLOSE_DELAY_MS).unref();
}
