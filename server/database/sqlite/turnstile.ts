import Sqlite from 'better-sqlite3';

/** Maximum time between two passages of a process whose writers wait for each other. */
const MAX_CHAIN_MS = 5;

/**
 * A lock before SQLite's write lock, so that processes take turns to write. SQLite gives its lock to the first that asks.
 * A process with many writers asks again at once, so it would keep the lock. A waiting writer holds the turnstile, which
 * stops the other processes at their next passage.
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
