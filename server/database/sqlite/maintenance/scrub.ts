import { closeSync, fstatSync, fsyncSync, openSync, readSync, statSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type Sqlite from 'better-sqlite3';
import { busyError, isBusy } from '../errors.ts';
import { openFile } from '../open-file.ts';
import { truncateWal } from '../wal.ts';
import { findUnusedSpace } from './unused-space.ts';

// `secure_delete` overwrites deleted rows. But when SQLite distributes rows among pages, copies of moved rows remain in
// the unused space of b-tree pages, also after the rows are deleted. VACUUM would remove them, but it blocks
// writers for seconds. SQLite's shell extension `scrub` does the same as this module, but only for a copy of the file.
//
// This module writes into the file itself. This cannot damage the database:
// - It changes only unused space, whose content SQLite never reads. A crash between two writes therefore has no effect.
// - It holds the write lock, and the write-ahead log is empty. So no page changes meanwhile, the log contains no newer
//   version of a page, and no checkpoint writes to the file.
// - Its transaction changes a row, so that other connections discard the pages in their caches. Otherwise, their next
//   write could restore the old bytes.

/** Number of bytes per transaction. Scrubbing them delays writers by some tens of milliseconds. */
const CHUNK_BYTES = 4 * 2 ** 20;

const LOCK_RETRY_INTERVAL_MS = 1;

/**
 * Minimum pause after a transaction, for waiting writers. After a longer transaction, the pause is as long as it was.
 */
const MIN_PAUSE_MS = 5;

/**
 * 128 GiB with pages of 4 KiB. Overflow pages and freelist trunk pages begin with a page number of four bytes. In a
 * larger file, its first byte could be the same as that of a b-tree page.
 */
const MAX_PAGES = 2 ** 25;

/** Offset in the file header of the number of reserved bytes at the end of each page. */
const RESERVED_BYTES_OFFSET = 20;

/** A range of the database file that is unused and contains old bytes. */
interface StaleRange {
  position: number;
  length: number;
}

/**
 * Overwrites the unused space of all pages with zeros, in short transactions. Then truncates the write-ahead log.
 *
 * Call it only in a process that does nothing else with the file. When a process closes a file, it loses all its locks
 * on it, including those of SQLite. See
 * https://sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled_by_a_separate_thread_doing_close_
 * @param signal        stops the scrub after the current transaction
 * @param lockTimeoutMs how long each wait for readers and writers of the write-ahead log may take
 * @throws the error of SQLite or Node.js, and SQLITE_BUSY after `lockTimeoutMs`
 */
export async function scrubFile(
  file: string,
  signal: AbortSignal,
  lockTimeoutMs: number,
): Promise<void> {
  const sqlite = openFile(file);
  const fd = openSync(file, 'r+');
  try {
    const emptyWal = async () => {
      const timeout = AbortSignal.timeout(lockTimeoutMs);
      if (await truncateWal(sqlite, AbortSignal.any([signal, timeout]))) return true;
      if (!signal.aborted) throw busyError('The database has been in use for too long.');
      return false;
    };
    // Now all pages with deleted content are in the file. Pages that are added later contain none.
    await emptyWal();
    const { size } = fstatSync(fd);
    const pageBytes = sqlite.pragma('page_size', { simple: true }) as number;
    const skipReason = reasonToSkip(sqlite, size / pageBytes);
    if (skipReason) {
      process.emitWarning(
        `${file} ${skipReason}, so its unused space cannot be overwritten. Parts of deleted accounts may remain in it. Run the command compact.`,
      );
      return;
    }
    const chunk = Buffer.alloc(CHUNK_BYTES);
    for (let start = 0; start < size && !signal.aborted; start += CHUNK_BYTES) {
      const findRanges = () => findStaleRanges(fd, start, chunk, pageBytes);
      // Checked without a lock first, because most chunks have nothing to overwrite if the file was scrubbed before.
      if (findRanges().length === 0) continue;
      if (!(await beginWithEmptyWal(sqlite, file, emptyWal))) break;
      const startedAt = performance.now();
      overwriteAndCommit(sqlite, fd, findRanges);
      // Outside of the transaction, because it can take a long time.
      fsyncSync(fd);
      await sleep(Math.max(MIN_PAUSE_MS, performance.now() - startedAt));
    }
    // The log contains earlier versions of pages that others changed meanwhile. They can contain deleted content.
    await emptyWal();
  } finally {
    // In this order, because closing the file removes SQLite's locks.
    sqlite.close();
    closeSync(fd);
  }
}

/** Returns why the unused space of a file cannot be found; undefined if it can. */
function reasonToSkip(sqlite: Sqlite.Database, pages: number): string | undefined {
  // With auto_vacuum, pages of another kind can begin like b-tree pages. The service does not turn it on.
  if (sqlite.pragma('auto_vacuum', { simple: true }) !== 0) return 'uses auto_vacuum';
  return pages >= MAX_PAGES ? 'is too large' : undefined;
}

/**
 * Overwrites ranges in the current transaction, and commits it.
 * @param findRanges called in the transaction, because the ranges can have changed since the check without a lock
 */
function overwriteAndCommit(
  sqlite: Sqlite.Database,
  fd: number,
  findRanges: () => StaleRange[],
): void {
  try {
    for (const { position, length } of findRanges()) writeAll(fd, Buffer.alloc(length), position);
    changeRow(sqlite);
    sqlite.exec('COMMIT');
  } catch (error) {
    if (sqlite.inTransaction) sqlite.exec('ROLLBACK');
    throw error;
  }
}

/** Finds unused space with bytes other than zero in a chunk of the file. Reads it into `chunk`. */
function findStaleRanges(
  fd: number,
  start: number,
  chunk: Buffer,
  pageBytes: number,
): StaleRange[] {
  const bytes = readSync(fd, chunk, 0, chunk.length, start);
  const usableBytes = pageBytes - reservedBytes(fd);
  const ranges: StaleRange[] = [];
  for (let at = 0; at + pageBytes <= bytes; at += pageBytes) {
    const page = chunk.subarray(at, at + pageBytes);
    for (const space of findUnusedSpace(page, usableBytes, start + at === 0)) {
      if (isZero(page.subarray(space.start, space.end))) continue;
      ranges.push({ position: start + at + space.start, length: space.end - space.start });
    }
  }
  return ranges;
}

function reservedBytes(fd: number): number {
  const field = Buffer.alloc(1);
  readSync(fd, field, 0, 1, RESERVED_BYTES_OFFSET);
  return field.readUInt8();
}

function isZero(bytes: Buffer): boolean {
  return bytes.equals(Buffer.alloc(bytes.length));
}

function writeAll(fd: number, bytes: Buffer, position: number): void {
  for (let written = 0; written < bytes.length; ) {
    written += writeSync(fd, bytes, written, bytes.length - written, position + written);
  }
}

/**
 * Waits until the write-ahead log is empty, and begins a transaction.
 * @param emptyWal returns false if the scrub must stop
 * @returns false if `emptyWal` did
 */
async function beginWithEmptyWal(
  sqlite: Sqlite.Database,
  file: string,
  emptyWal: () => Promise<boolean>,
): Promise<boolean> {
  while (await emptyWal()) {
    if (tryBegin(sqlite)) {
      if (statSync(`${file}-wal`).size === 0) return true;
      // Another writer was faster.
      sqlite.exec('ROLLBACK');
    }
    await sleep(LOCK_RETRY_INTERVAL_MS);
  }
  return false;
}

function tryBegin(sqlite: Sqlite.Database): boolean {
  try {
    sqlite.exec('BEGIN IMMEDIATE');
    return true;
  } catch (error) {
    if (!isBusy(error)) throw error;
    return false;
  }
}

/** Inserts and deletes a row. An update could leave the page unchanged, and SQLite would then write nothing. */
function changeRow(sqlite: Sqlite.Database): void {
  const { lastInsertRowid } = sqlite
    .prepare('INSERT INTO pending_purges (requested_at) VALUES (?)')
    .run('');
  sqlite.prepare('DELETE FROM pending_purges WHERE id = ?').run(lastInsertRowid);
}
