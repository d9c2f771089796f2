import { setTimeout as sleep, setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { CompiledQuery, DatabaseConnection, QueryResult } from 'kysely';
import { nextTurn } from '../../system/event-loop.ts';
import { currentSender, SERVER } from '../../system/senders.ts';
import type { CommitGroup } from './commit-group.ts';
import { isBusy } from './errors.ts';
import { SqliteHandle } from './handle.ts';
import type { Turnstile } from './turnstile.ts';
import type { Meter, Mutex } from './waiting.ts';

/** How long a write waits for other writers before it fails with `SQLITE_BUSY`. */
const WRITE_LOCK_TIMEOUT_MS = 30_000;

/**
 * After this time, a transaction yields to the event loop between two statements. Long enough for the few statements of
 * a typical request.
 */
const MAX_UNINTERRUPTED_MS = 0.2;

/** The same for a read-only transaction. Longer than most searches by one word take. */
const MAX_UNINTERRUPTED_READ_MS = 0.5;

/**
 * A writer that waits for another process retries after this share of its waiting time. The first intervals are short,
 * because the lock is often free during them.
 */
const RETRY_SHARE = 0.05;
const MIN_RETRY_INTERVAL_MS = 1;
const MAX_RETRY_INTERVAL_MS = 50;

/** Each has a page cache of its own. */
const MAX_IDLE_READERS = 4;

/** The resources that all connections of a driver share. */
export interface SharedResources {
  file: string;
  /** For writes and read-write transactions. Only the holder of the mutex uses it. */
  writer: SqliteHandle;
  writeMutex: Mutex;
  commitGroup: CommitGroup;
  /** Only if other processes write as often as this one. */
  turnstile: Turnstile | undefined;
  /** For reads outside transactions, which never wait for a writer. */
  reader: SqliteHandle;
  /** For later read-only transactions, because opening a file takes longer than most of them. */
  idleReaders: SqliteHandle[];
  meter: Meter;
  /** Once it is aborted, writes no longer wait for other processes. */
  stopSignal: AbortSignal | undefined;
}

/**
 * A Kysely connection. It selects the handle for each query: the handle of the transaction, the writer or the reader.
 */
export class SqliteConnection implements DatabaseConnection {
  readonly #shared: SharedResources;
  #transaction: SqliteHandle | undefined;
  /** When the transaction began or last resumed after yielding, as of `performance.now()`. */
  #resumedAt = 0;

  constructor(shared: SharedResources) {
    this.#shared = shared;
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    if (this.#transaction) {
      if (this.#mustYield()) {
        // A writer resumes at once, because others wait for its lock.
        await (this.#transaction === this.#shared.writer ? yieldToEventLoop() : nextTurn(SERVER));
        this.#resumedAt = performance.now();
      }
      return this.#executeIn(this.#transaction, query);
    }
    const { reader, writer, writeMutex, commitGroup } = this.#shared;
    if (reader.isReadOnly(query.sql)) return reader.execute(query);
    const deadline = performance.now() + WRITE_LOCK_TIMEOUT_MS;
    await writeMutex.acquire(deadline);
    try {
      commitGroup.commit();
      return await lockAndRun(() => writer.execute<R>(query), deadline, this.#shared);
    } finally {
      writeMutex.release();
    }
  }

  /**
   * Streams rows. Outside a transaction, the reader keeps its snapshot until the last row is read. Meanwhile, other
   * reads of this process do not see later writes.
   */
  async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
    const handle = this.#transaction ?? this.#shared.reader;
    for (const row of handle.iterate<R>(query)) yield { rows: [row] };
  }

  /**
   * Begins a transaction that acquires SQLite's write lock immediately. If it acquired the lock at its first write, it
   * would fail if another process had written since its first read.
   */
  async beginReadWrite(): Promise<void> {
    const { writer, writeMutex, commitGroup } = this.#shared;
    const deadline = performance.now() + WRITE_LOCK_TIMEOUT_MS;
    await writeMutex.acquire(deadline);
    try {
      const begin = () => writer.exec('BEGIN IMMEDIATE');
      await commitGroup.begin(currentSender(), () => lockAndRun(begin, deadline, this.#shared));
    } catch (error) {
      try {
        commitGroup.commit();
      } finally {
        writeMutex.release();
      }
      throw error;
    }
    this.#transaction = writer;
    this.#resumedAt = performance.now();
  }

  /** Begins a read-only transaction. It has its own handle, so that a long transaction does not block other queries. */
  beginReadOnly(): void {
    const { file, meter, idleReaders } = this.#shared;
    this.#transaction = idleReaders.pop() ?? new SqliteHandle(file, 'read only', meter);
    this.#transaction.exec('BEGIN');
    this.#resumedAt = performance.now();
  }

  /** Resolves when the transaction is on the disk, and visible to others. */
  async commit(): Promise<void> {
    if (this.#transaction === this.#shared.writer) {
      await this.#endMember(() => this.#shared.commitGroup.commitMember());
    } else {
      this.#transaction?.exec('COMMIT');
      this.#endTransaction();
    }
  }

  /** Does nothing after a failed commit. */
  async rollback(): Promise<void> {
    if (this.#transaction === this.#shared.writer) {
      await this.#endMember(() => this.#shared.commitGroup.rollBackMember());
    } else if (this.#transaction) {
      try {
        if (this.#transaction.isInTransaction) this.#transaction.exec('ROLLBACK');
      } finally {
        this.#endTransaction();
      }
    }
  }

  async #endMember(end: () => Promise<void>): Promise<void> {
    let ended: Promise<void>;
    try {
      ended = end();
    } finally {
      this.#endTransaction();
    }
    await ended;
  }

  #endTransaction(): void {
    const { writer, writeMutex, idleReaders } = this.#shared;
    const handle = this.#transaction;
    this.#transaction = undefined;
    if (handle === writer) writeMutex.release();
    else if (idleReaders.length < MAX_IDLE_READERS) idleReaders.push(handle as SqliteHandle);
    else handle?.close();
  }

  #executeIn<R>(handle: SqliteHandle, query: CompiledQuery): QueryResult<R> {
    try {
      return handle.execute(query);
    } catch (error) {
      if (handle === this.#shared.writer) this.#shared.commitGroup.handleError(error);
      throw error;
    }
  }

  /**
   * A transaction does not yield while other writers wait, because on a busy event loop they would wait much longer.
   */
  #mustYield(): boolean {
    const isRead = this.#transaction !== this.#shared.writer;
    const maxMs = isRead ? MAX_UNINTERRUPTED_READ_MS : MAX_UNINTERRUPTED_MS;
    const isDue = performance.now() - this.#resumedAt > maxMs;
    return isDue && !this.#shared.writeMutex.hasWaiters;
  }
}

/** Runs a statement that acquires the write lock. */
async function lockAndRun<T>(run: () => T, deadline: number, shared: SharedResources): Promise<T> {
  const { turnstile } = shared;
  if (!turnstile?.mustEnter) return retryWhileBusy(run, deadline, shared);
  await retryWhileBusy(() => turnstile.enter(), deadline, shared);
  try {
    return await retryWhileBusy(run, deadline, shared);
  } finally {
    turnstile.leave();
  }
}

/** Retries `attempt` while another process or thread holds the write lock, until the deadline or the stop signal. */
async function retryWhileBusy<T>(
  attempt: () => T,
  deadline: number,
  { meter, stopSignal }: Pick<SharedResources, 'meter' | 'stopSignal'>,
): Promise<T> {
  const startedAt = performance.now();
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline || stopSignal?.aborted) throw error;
      const intervalMs = Math.min(
        Math.max(MIN_RETRY_INTERVAL_MS, RETRY_SHARE * (performance.now() - startedAt)),
        MAX_RETRY_INTERVAL_MS,
      );
      // Jitter, so that waiting processes do not retry at the same time.
      await meter.measureWait(sleep(intervalMs * (0.5 + Math.random())));
    }
  }
}
