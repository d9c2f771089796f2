import { closeSync, fdatasync, openSync } from 'node:fs';

/**
 * Makes commits durable without blocking the thread: SQLite writes them to the write-ahead log, and a thread of libuv
 * waits for the disk, once for all commits that wait at the same time.
 *
 * SQLite itself, with `synchronous = NORMAL`, syncs the header of a new log and its entry in the folder, and the log and
 * the database at each checkpoint. It deletes the log only when its last connection closes, so the open file stays the
 * right one. SQLite's locks are on other files, so they survive that this one is closed.
 */
export class LogSync {
  readonly #path: string;
  #log: number | undefined;
  #running: Promise<void> | undefined;
  #waiting: Promise<void> | undefined;

  /** @param file the database, with an open connection in WAL mode */
  constructor(file: string) {
    this.#path = `${file}-wal`;
  }

  /**
   * Waits until all that has been committed before the call is on the disk. A commit that follows a running sync may not
   * be part of it, so at most one sync runs, and one waits for all later commits.
   *
   * If the disk fails, never resolves, because a second sync could succeed without the pages that the first one has
   * lost. Instead, ends the process with an uncaught error. The next start recovers what is on the disk.
   */
  wait(): Promise<void> {
    if (!this.#running) {
      this.#running = this.#sync().finally(() => {
        this.#running = undefined;
      });
      return this.#running;
    }
    this.#waiting ??= this.#running.then(() => {
      this.#waiting = undefined;
      return this.wait();
    });
    return this.#waiting;
  }

  #sync(): Promise<void> {
    return new Promise((resolve) => {
      this.#log ??= openSync(this.#path, 'r+');
      fdatasync(this.#log, (error) => {
        if (error)
          throw new Error(`${this.#path} could not be written to the disk.`, { cause: error });
        resolve();
      });
    });
  }

  async close(): Promise<void> {
    await this.#running;
    if (this.#log !== undefined) closeSync(this.#log);
  }
}
