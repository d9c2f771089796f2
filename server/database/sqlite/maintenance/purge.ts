import { statfs } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type Sqlite from 'better-sqlite3';
import type { Database } from '../../engine.ts';
import { diskFullError } from '../errors.ts';
import { openFile } from '../open-file.ts';
import { vacuum } from '../vacuum.ts';
import { truncateWal } from '../wal.ts';
import { rewriteWordIndex } from './word-index-merge.ts';

/** Rewriting a file of this size blocks writers for a second or two. Larger files need `npm run compact`. */
const MAX_VACUUM_BYTES = 256 * 2 ** 20;

/** Required free space per byte of the file: 1 for the temporary copy, 1 for the log, and 0.5 for other writers. */
const VACUUM_SPACE_FACTOR = 2.5;

/** Minimum time between a failed rewrite and the next purge. */
const VACUUM_RETRY_INTERVAL_MS = 60_000;

/**
 * After a rewrite, the next purge waits for this many times its duration, so that writers are blocked less than a tenth
 * of the time.
 */
const VACUUM_PAUSE_FACTOR = 10;

/** How long a purge waits for the deletion of discarded avatars. After that, their names can remain in the database. */
const AVATAR_TIMEOUT_MS = 5_000;

const AVATAR_POLL_INTERVAL_MS = 5;

/** Overwrites deleted content, so that none of it remains in the database files. */
export class Purger {
  readonly #db: Database;
  readonly #file: string;
  readonly #refreshDictionary: () => Promise<void>;
  readonly #stopping: AbortSignal;
  #pausesUntil = 0;

  constructor(
    db: Database,
    file: string,
    refreshDictionary: () => Promise<void>,
    stopping: AbortSignal,
  ) {
    this.#db = db;
    this.#file = file;
    this.#refreshDictionary = refreshDictionary;
    this.#stopping = stopping;
  }

  /** Whether the last rewrite of the file is too recent for another purge. */
  get isPausing(): boolean {
    return performance.now() < this.#pausesUntil;
  }

  async purge(requestIds: number[]): Promise<void> {
    await rewriteWordIndex(this.#db, this.#stopping);
    // After the word index, because the dictionary is built from it.
    await this.#refreshDictionary();
    await this.#waitForDiscardedAvatars();
    if (this.#stopping.aborted) return;
    const sqlite = openFile(this.#file);
    try {
      // After the steps above, because they delete rows, too, and can leave copies of them in unused space.
      const bytes = fileBytes(sqlite);
      if (bytes <= MAX_VACUUM_BYTES) await this.#rewriteFile(sqlite, bytes);
      // Last, because the log contains earlier versions of all changed pages.
      await truncateWal(sqlite, this.#stopping);
    } finally {
      sqlite.close();
    }
    if (this.#stopping.aborted) return;
    await this.#db.deleteFrom('pending_purges').where('id', 'in', requestIds).execute();
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

  async #rewriteFile(sqlite: Sqlite.Database, bytes: number): Promise<void> {
    // In case the rewrite fails. Otherwise it is replaced below.
    this.#pausesUntil = performance.now() + VACUUM_RETRY_INTERVAL_MS;
    await assertSpaceToRewrite(this.#file, bytes);
    const startedAt = performance.now();
    await vacuum(sqlite, this.#stopping);
    const endedAt = performance.now();
    this.#pausesUntil = endedAt + VACUUM_PAUSE_FACTOR * (endedAt - startedAt);
  }
}

function fileBytes(sqlite: Sqlite.Database): number {
  const pages = sqlite.pragma('page_count', { simple: true }) as number;
  const pageBytes = sqlite.pragma('page_size', { simple: true }) as number;
  return pages * pageBytes;
}

async function assertSpaceToRewrite(file: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(file);
  const required = VACUUM_SPACE_FACTOR * bytes;
  const available = bavail * bsize;
  if (available >= required) return;
  const message = `Rewriting ${file} needs ${inMebibytes(required)} of free disk space, but only ${inMebibytes(available)} are available. Until it is rewritten, parts of deleted accounts may remain in it.`;
  process.emitWarning(message);
  throw diskFullError(message);
}

function inMebibytes(bytes: number): string {
  return `${Math.ceil(bytes / 2 ** 20)} MiB`;
}
