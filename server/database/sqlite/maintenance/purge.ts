import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Database } from '../../engine.ts';
import { runScrubProcess } from './scrub-process.ts';
import { rewriteWordIndex } from './word-index-merge.ts';

/** Pause after a purge that failed. */
const RETRY_INTERVAL_MS = 60_000;

/**
 * Pause after a purge, as a multiple of the purge's duration, so that purges use at most a tenth of a core. Otherwise,
 * clients that repeatedly delete accounts could keep maintenance from all other work. So could clients that delete
 * spaces during each purge, which then has to be repeated.
 */
const PAUSE_FACTOR = 10;

/** How long a purge waits for the deletion of discarded avatars. After that, their names can remain in the database. */
const AVATAR_TIMEOUT_MS = 5_000;

const AVATAR_POLL_INTERVAL_MS = 5;

/** All purges that are requested. */
interface PendingPurges {
  /** The last request. */
  lastId: number;
  /** When the first one is due, by `Date.now()`. */
  dueAt: number;
  /** Whether the content of the search index must be overwritten, too. */
  includesIndex: boolean;
}

/** Overwrites deleted content, so that none of it remains in the database files. */
export class Purger {
  readonly #db: Database;
  readonly #file: string;
  readonly #refreshDictionary: () => Promise<boolean>;
  readonly #stopping: AbortSignal;
  readonly #recordErasures: () => Promise<void>;
  #pausesUntil = 0;

  /** @param recordErasures see `erasure-journal.ts`; not for a copy of the search index */
  constructor(
    db: Database,
    file: string,
    refreshDictionary: () => Promise<boolean>,
    stopping: AbortSignal,
    recordErasures = async () => {},
  ) {
    this.#db = db;
    this.#file = file;
    this.#refreshDictionary = refreshDictionary;
    this.#stopping = stopping;
    this.#recordErasures = recordErasures;
  }

  /** Whether the last purge, also a failed one, is too recent for another one. */
  get isPausing(): boolean {
    return performance.now() < this.#pausesUntil;
  }

  /** Returns the requested purges; undefined if there are none. */
  async readPending(): Promise<PendingPurges | undefined> {
    const { lastId, dueAt, atOnce } = await this.#db
      .selectFrom('pending_purges')
      .select(({ fn }) => [
        fn.max('id').as('lastId'),
        fn.min('due_at').as('dueAt'),
        sql<number>`count(*) - count(due_at)`.as('atOnce'),
      ])
      .executeTakeFirstOrThrow();
    if (lastId === null) return undefined;
    const includesIndex = atOnce > 0;
    return { lastId, dueAt: includesIndex ? 0 : Date.parse(dueAt as string), includesIndex };
  }

  /**
   * Performs purges. Emits a warning if that fails, for example because the
   * disk is full.
   * @returns false if they stay pending: after a failure, if the service stops, or if the words of a space that was
   *   deleted meanwhile have prevented the refresh of the dictionary
   */
  async purge(pending: PendingPurges): Promise<boolean> {
    // Before `startedAt`, so that this wait does not lengthen the pause after the purge.
    await this.#waitForDiscardedAvatars();
    const startedAt = performance.now();
    try {
      const isDone = await this.#purgeNow(pending);
      this.#pauseFor(PAUSE_FACTOR * (performance.now() - startedAt));
      return isDone;
    } catch (error) {
      this.#pauseFor(RETRY_INTERVAL_MS);
      process.emitWarning(
        `Deleted content could not be overwritten. The service will retry later. ${(error as Error).message}`,
      );
      return false;
    }
  }

  async #purgeNow({ lastId, includesIndex }: PendingPurges): Promise<boolean> {
    // First, because the requests are deleted below.
    await this.#recordErasures();
    if (includesIndex) {
      await rewriteWordIndex(this.#db, this.#stopping);
      if (this.#stopping.aborted) return false;
      // After the word index, because the dictionary is built from it.
      const isRefreshed = await this.#refreshDictionary();
      if (this.#stopping.aborted || !isRefreshed) return false;
    }
    // After the steps above, because they also delete rows and can leave copies of them in unused space.
    await runScrubProcess(this.#file, this.#stopping);
    if (this.#stopping.aborted) return false;
    await this.#db.deleteFrom('pending_purges').where('id', '<=', lastId).execute();
    return true;
  }

  #pauseFor(ms: number): void {
    this.#pausesUntil = performance.now() + ms;
  }

  /** Waits until housekeeping has deleted the rows of discarded avatars, which contain the names of their files. */
  async #waitForDiscardedAvatars(): Promise<void> {
    const deadline = performance.now() + AVATAR_TIMEOUT_MS;
    while (!this.#stopping.aborted && performance.now() < deadline) {
      const due = await this.#db
        .selectFrom('discarded_avatars')
        .select('avatar')
        .where('remove_after', '<=', new Date().toISOString())
        .limit(1)
        .execute();
      if (due.length === 0) return;
      await sleep(AVATAR_POLL_INTERVAL_MS);
    }
  }
}
