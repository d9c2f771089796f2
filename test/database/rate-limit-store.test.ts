import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, test, vi } from 'vitest';
import { openSqliteRateLimitStore } from '../../server/database/sqlite/rate-limit-store.ts';
import { TemporaryError } from '../../server/errors.ts';

test('A new file of counters that is locked at first is not taken for a damaged one', async () => {
  await using cleanup = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'rate-limits-'));
  cleanup.defer(() => rm(folder, { recursive: true }));
  const file = join(folder, 'limits.sqlite');
  const resets: unknown[] = [];
  const store = openSqliteRateLimitStore(file, (error) => resets.push(error));
  cleanup.defer(() => store.close());
  const counter = await store.openCounter('logins', 10, 60);

  // Another process replaces the file, and locks it.
  await Promise.all(['', '-wal', '-shm'].map((suffix) => rm(file + suffix, { force: true })));
  const other = new Sqlite(file);
  cleanup.defer(() => void other.close());
  other.exec('BEGIN EXCLUSIVE');
  await expect(counter.consume('ada')).rejects.toMatchObject({ code: 'SQLITE_BUSY' });
  other.exec('ROLLBACK');
  await counter.consume('ada');
  expect(resets).toEqual([]);
});

test('A disk that is full when a counter is opened is explained to the operator as temporary', async () => {
  await using cleanup = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'rate-limits-'));
  cleanup.defer(() => rm(folder, { recursive: true }));
  const store = openSqliteRateLimitStore(join(folder, 'limits.sqlite'), () => {});
  cleanup.defer(() => store.close());
  const exec = vi.spyOn(Sqlite.prototype, 'exec').mockImplementation(() => {
    throw Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });
  });
  cleanup.defer(() => exec.mockRestore());
  await expect(store.openCounter('logins', 10, 60)).rejects.toThrow(TemporaryError);
});
