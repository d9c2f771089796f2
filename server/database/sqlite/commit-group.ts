import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Sender } from '../../system/senders.ts';
import type { SqliteHandle } from './handle.ts';
import type { Mutex } from './waiting.ts';

/**
 * If a group has lasted so long when a transaction ends, it commits at once, because its members wait for their
 * acknowledgement, and other processes for the write lock.
 */
const MAX_GROUP_MS = 5;

/**
 * Read-write transactions of this process that are committed together. A commit waits for the disk and writes each
 * changed page, which takes longer than most transactions, and blocks the thread. So a transaction that ends leaves its
 * commit to a later one if that follows at once.
 *
 * Each transaction still is rolled back alone if its work fails, and is acknowledged only after the commit. No reader
 * sees it earlier, and if the commit fails, all transactions of the group fail. So nothing differs from separate commits
 * but their number.
 */
export class CommitGroup {
  readonly #writer: SqliteHandle;
  readonly #writeMutex: Mutex;
  /** Transactions that have ended and wait for the commit. */
  #ended: PromiseWithResolvers<void>[] = [];
  /** Whose transactions are in the group. */
  readonly #networks = new Set<string>();
  #isOpen = false;
  #openedAt = 0;
  #isCommitScheduled = false;

  /** @param writeMutex held by the current transaction */
  constructor(writer: SqliteHandle, writeMutex: Mutex) {
    this.#writer = writer;
    this.#writeMutex = writeMutex;
  }

  /**
   * Begins a transaction. Commits the group first if it has transactions of several networks, one of them this one.
   * Otherwise, a network that sends many would delay the acknowledgement of others.
   * @param begin begins a transaction in SQLite
   */
  async begin({ network }: Sender, begin: () => Promise<void>): Promise<void> {
    if (this.#networks.size > 1 && this.#networks.has(network)) this.commit();
    if (this.#isOpen) this.#writer.exec('SAVEPOINT member');
    else {
      await begin();
      this.#isOpen = true;
      this.#openedAt = performance.now();
    }
    this.#networks.add(network);
  }

  /** Ends the current transaction. Resolves when it is committed. */
  commitMember(): Promise<void> {
    try {
      if (!this.#writer.isInTransaction) throw new Error('SQLite has rolled the transaction back.');
      if (this.#ended.length > 0) this.#writer.exec('RELEASE member');
    } catch (error) {
      this.#abort(error);
      throw error;
    }
    return this.#endMember();
  }

  /**
   * Undoes the current transaction. Resolves when the others are committed, because their changes may be the reason why
   * it is undone.
   */
  async rollBackMember(): Promise<void> {
    if (!this.#isOpen) return;
    if (this.#ended.length === 0) {
      this.#close();
      if (this.#writer.isInTransaction) this.#writer.exec('ROLLBACK');
      return;
    }
    try {
      this.#writer.exec('ROLLBACK TO member; RELEASE member');
    } catch (error) {
      this.#abort(error);
      throw error;
    }
    await this.#endMember();
  }

  /**
   * Call it if a statement fails. After some errors, such as a full disk, SQLite has rolled everything back. Then all
   * members fail.
   */
  handleError(error: unknown): void {
    if (this.#isOpen && !this.#writer.isInTransaction) this.#fail(error);
  }

  /** Commits the transactions that have ended. Call it while no other one runs. */
  commit(): void {
    if (!this.#isOpen) return;
    try {
      this.#writer.exec('COMMIT');
    } catch (error) {
      this.#abort(error);
      return;
    }
    for (const { resolve } of this.#close()) resolve();
  }

  #endMember(): Promise<void> {
    const end = Promise.withResolvers<void>();
    this.#ended.push(end);
    if (performance.now() - this.#openedAt > MAX_GROUP_MS) this.commit();
    else if (!this.#isCommitScheduled) void this.#commitSoon();
    return end.promise;
  }

  /** Commits after a turn of the event loop in which no further transaction has ended. */
  async #commitSoon(): Promise<void> {
    this.#isCommitScheduled = true;
    let count: number;
    do {
      count = this.#ended.length;
      await yieldToEventLoop();
    } while (this.#isOpen && this.#ended.length > count);
    this.#isCommitScheduled = false;
    // Otherwise the end of the current transaction schedules the commit again.
    if (!this.#writeMutex.isLocked) this.commit();
  }

  /** Undoes all transactions of the group. */
  #abort(error: unknown): void {
    this.#fail(error);
    if (this.#writer.isInTransaction) this.#writer.exec('ROLLBACK');
  }

  #fail(error: unknown): void {
    for (const { reject } of this.#close()) reject(error);
  }

  #close(): PromiseWithResolvers<void>[] {
    const ended = this.#ended;
    this.#ended = [];
    this.#networks.clear();
    this.#isOpen = false;
    return ended;
  }
}
