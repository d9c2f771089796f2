import { once } from 'node:events';
import { existsSync, statSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import Sqlite from 'better-sqlite3';
import { expect, test, vi } from 'vitest';
import { openFile } from '../../server/database/sqlite/open-file.ts';
import { openSqliteRateLimitStore } from '../../server/database/sqlite/rate-limit-store.ts';
import { OperatorError, TemporaryError } from '../../server/errors.ts';
import { damageOfCounters } from '../support/damaged-counters.ts';

/** Longer than a request waits for a lock. */
const LOCKED_MS = 300;

/** Creates a file in another thread, and locks it for `LOCKED_MS`, like another process that creates the file. */
async function lockNewFile(file: string): Promise<void> {
  const work = `
    const { parentPort } = require('node:worker_threads');
    const sqlite = new (require('better-sqlite3'))(${JSON.stringify(file)});
    sqlite.exec('BEGIN IMMEDIATE');
    parentPort.postMessage('locked');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${LOCKED_MS});
    sqlite.exec('COMMIT');
    sqlite.close();`;
  await once(new Worker(work, { eval: true }), 'message');
}

test.each([
  { name: 'database', open: (file: string) => void openFile(file).close() },
  {
    name: 'file of counters',
    open: (file: string) => openSqliteRateLimitStore(file, () => {}).close(),
  },
])('Opening a new $name waits for another process that creates it', async ({ open }) => {
  await using cleanup = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'opening-'));
  cleanup.defer(() => rm(folder, { recursive: true }));
  const file = join(folder, 'new.sqlite');
  await lockNewFile(file);
  await open(file);
});

test('Opening a new file of counters keeps the file that another process creates at the same time', async () => {
  await using cleanup = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'rate-limits-'));
  cleanup.defer(() => rm(folder, { recursive: true }));
  const file = join(folder, 'limits.sqlite');
  const open = () => {
    const store = openSqliteRateLimitStore(file, () => {});
    cleanup.defer(() => store.close());
    void store.openCounter('logins', 10, 60);
  };
  let created: number | undefined;
  // After the first pragma of this process, another one creates the tables.
  const { pragma } = Sqlite.prototype;
  const spy = vi.spyOn(Sqlite.prototype, 'pragma').mockImplementation(function (
    this: Sqlite.Database,
    ...parameters
  ) {
    const result = pragma.apply(this, parameters);
    spy.mockRestore();
    open();
    created = statSync(file).ino;
    return result;
  });
  open();
  expect(created).toBeDefined();
  expect(statSync(file).ino).toBe(created);
});

test('A counter of a file that can no longer be used says what to do', async () => {
  await using cleanup = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'rate-limits-'));
  cleanup.defer(() => rm(folder, { recursive: true }));
  const file = join(folder, 'limits.sqlite');
  const store = openSqliteRateLimitStore(file, () => {});
  cleanup.defer(() => store.close());
  await rm(file);
  await mkdir(file);
  const opened = store.openCounter('logins', 10, 60);
  await expect(opened).rejects.toBeInstanceOf(OperatorError);
  await expect(opened).rejects.toThrow(`${file} cannot be written. `);
});

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

test.each(damageOfCounters)('A file of counters is reset if it is %s', async (_, change) => {
  await using cleanup = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'rate-limits-'));
  cleanup.defer(() => rm(folder, { recursive: true }));
  const file = join(folder, 'limits.sqlite');
  const resets: unknown[] = [];
  const countAgain = async () => {
    const store = openSqliteRateLimitStore(file, (error) => resets.push(error));
    try {
      const counter = await store.openCounter('login', 10, 60);
      return (await counter.consume('ada')).consumedPoints;
    } finally {
      await store.close();
    }
  };
  expect([await countAgain(), await countAgain()]).toEqual([1, 2]);
  expect(resets).toEqual([]);
  await change(file);
  const isEmpty = !existsSync(file) || statSync(file).size === 0;
  expect(await countAgain()).toBe(1);
  expect(resets).toHaveLength(isEmpty ? 0 : 1);
});
