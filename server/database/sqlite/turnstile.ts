import Sqlite from 'better-sqlite3';

/** How long a process may write before it passes through the turnstile again, if its writers wait for each other. */
const MAX_CHAIN_MS = 5;

/**
 * Lets processes that write to a database take turns. SQLite gives the write lock to whoever asks first, so a process
 * with many writers would take it again and again, while those of the others ask too late. A writer that waits for the
 * lock stays in the turnstile, and each other process that has written for some time must pass through it, too.
 */
export class Turnstile {
  readonly #lock: Sqlite.Database;
  readonly #enter: Sqlite.Statement;
  readonly #leave: Sqlite.Statement;
  #enteredAt = 0;

  /** @param file always empty */
  constructor(file: string) {
    this.#lock = new Sqlite(file, { timeout: 0 });
    // Otherwise each passage would create a journal file.
    this.#lock.pragma('journal_mode = MEMORY');
    this.#enter = this.#lock.prepare('BEGIN IMMEDIATE');
    this.#leave = this.#lock.prepare('ROLLBACK');
  }

  get mustEnter(): boolean {
    return performance.now() - this.#enteredAt > MAX_CHAIN_MS;
  }

  /** @throws `SQLITE_BUSY` while another process is in it */
  enter(): void {
    this.#enter.run();
  }

  leave(): void {
    this.#leave.run();
    this.#enteredAt = performance.now();
  }

  close(): void {
    this.#lock.close();
  }
}
