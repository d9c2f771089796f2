import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Engine } from '../../server/database/engine.ts';
import { openDatabase } from '../../server/database/open.ts';
import { migrations } from '../../server/database/sqlite/migrations/index.ts';
import { openFile } from '../../server/database/sqlite/open-file.ts';
import { readSnapshot, transact } from '../../server/database/transaction.ts';
import { insertUser, usernames, userRow } from './users.ts';

let folder: string;
let file: string;
let engine: Engine;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'database-'));
  file = join(folder, 'space-service.sqlite');
  engine = await openDatabase({ dataDir: folder }, { runsMaintenance: false });
});
afterEach(async () => {
  await engine.close();
  await rm(folder, { recursive: true });
});

describe('openFile', () => {
  test('makes commits durable, enforces foreign keys and overwrites deleted content, even after a write', () => {
    const sqlite = openFile(join(folder, 'other.sqlite'));
    // At the first write, better-sqlite3 would change the default of `synchronous`, see `openFile`.
    sqlite.exec('CREATE TABLE t (x); INSERT INTO t VALUES (1)');
    expect(sqlite.pragma('journal_mode', { simple: true })).toBe('wal');
    expect(sqlite.pragma('synchronous', { simple: true })).toBe(2);
    expect(sqlite.pragma('foreign_keys', { simple: true })).toBe(1);
    expect(sqlite.pragma('secure_delete', { simple: true })).toBe(1);
    sqlite.close();
  });

  test('closes a file that is not a database', async () => {
    const other = join(folder, 'other.sqlite');
    await writeFile(other, 'x'.repeat(4_096));
    const close = vi.spyOn(Sqlite.prototype, 'close');
    expect(() => openFile(other)).toThrow('not a database');
    expect(close).toHaveBeenCalledOnce();
    close.mockRestore();
  });
});

describe('openDatabase', () => {
  test('keeps the data of an existing database and runs no migration twice', async () => {
    await insertUser(engine.db, 'ada');
    await using reopened = await openDatabase({ dataDir: folder }, { runsMaintenance: false });
    expect(await usernames(reopened.db)).toEqual(['ada']);
    const { rows } = await sql`SELECT name FROM kysely_migration`.execute(reopened.db);
    expect(rows).toEqual(Object.keys(migrations).map((name) => ({ name })));
  });

  test('rejects tasks without a tasks module', async () => {
    const task = engine.runTask('eraseAccount', { pk: 1, sessionPk: 1 });
    await expect(task).rejects.toThrow('without a tasksModule');
  });
});

describe('transact', () => {
  test('lets other requests run during a long transaction', async () => {
    let iterations = 0;
    let isOver = false;
    const others = (async () => {
      for (; !isOver; iterations += 1) await yieldToEventLoop();
    })();
    await transact(engine, async (trx) => {
      for (let i = 0; i < 1_000; i += 1) await usernames(trx);
    });
    isOver = true;
    await others;
    expect(iterations).toBeGreaterThan(10);
  });

  test('commits all writes or none', async () => {
    await transact(engine, async (trx) => {
      await insertUser(trx, 'ada');
      await insertUser(trx, 'bob');
    });
    const failing = transact(engine, async (trx) => {
      await insertUser(trx, 'cleo');
      throw new Error('changed my mind');
    });
    await expect(failing).rejects.toThrow('changed my mind');
    expect(await usernames(engine.db)).toEqual(['ada', 'bob']);
  });

  test('rejects queries that bypass the transaction, which would deadlock', async () => {
    const write = transact(engine, async () => insertUser(engine.db, 'ada'));
    await expect(write).rejects.toThrow('use the transaction');
    const read = transact(engine, async () => usernames(engine.db));
    await expect(read).rejects.toThrow('use the transaction');
    await insertUser(engine.db, 'bob');
    expect(await usernames(engine.db)).toEqual(['bob']);
  });

  test('rejects a transaction in another one, which would deadlock', async () => {
    const nested = transact(engine, () => transact(engine, async () => {}));
    await expect(nested).rejects.toThrow('Inside a transaction, use the transaction');
  });

  test('hides writes from other connections until the commit', async () => {
    await transact(engine, async (trx) => {
      await insertUser(trx, 'ada');
      expect(await usernames(trx)).toEqual(['ada']);
      const other = new Sqlite(file, { readonly: true });
      expect(other.prepare('SELECT count(*) FROM users').pluck().get()).toBe(0);
      other.close();
    });
    expect(await usernames(engine.db)).toEqual(['ada']);
  });

  test('waits while another process writes, without blocking timers or readers', async () => {
    await insertUser(engine.db, 'ada');
    const other = new Sqlite(file);
    other.exec('BEGIN IMMEDIATE');
    let isWritten = false;
    const writes = Promise.all([
      transact(engine, (trx) => insertUser(trx, 'bob')),
      insertUser(engine.db, 'cleo'),
    ]).then(() => {
      isWritten = true;
    });
    let ticks = 0;
    const timer = setInterval(() => (ticks += 1), 5);
    await expect.poll(() => ticks).toBeGreaterThan(20);
    expect(await usernames(engine.db)).toEqual(['ada']);
    expect(isWritten).toBe(false);
    other.exec('COMMIT');
    await writes;
    clearInterval(timer);
    other.close();
    expect((await usernames(engine.db)).sort()).toEqual(['ada', 'bob', 'cleo']);
  });

  test('commits each of many concurrent transactions', async () => {
    const all = Array.from({ length: 50 }, (_, i) => `user${i}`);
    await Promise.all(all.map((name) => transact(engine, (trx) => insertUser(trx, name))));
    expect((await usernames(engine.db)).sort()).toEqual([...all].sort());
  });

  test('reports a full disk as unavailable, rolls back, and succeeds once there is space', async () => {
    await insertUser(engine.db, 'ada');
    await transact(engine, async (trx) => {
      const { rows } = await sql<{ page_count: number }>`PRAGMA page_count`.execute(trx);
      await sql`PRAGMA max_page_count = ${sql.lit((rows[0]?.page_count ?? 0) + 2)}`.execute(trx);
    });
    const big = { ...userRow('big'), bio: 'x'.repeat(100_000) };
    const error = await transact(engine, (trx) =>
      trx.insertInto('users').values(big).execute(),
    ).catch((each: unknown) => each);
    expect(engine.isUnavailable(error)).toBe(true);
    expect(await usernames(engine.db)).toEqual(['ada']);
    await transact(engine, (trx) => sql`PRAGMA max_page_count = 1000000`.execute(trx));
    await insertUser(engine.db, 'bob');
    expect(await usernames(engine.db)).toEqual(['ada', 'bob']);
  });
});

describe('readSnapshot', () => {
  test('reads and streams a snapshot while others write, and rejects writes', async () => {
    await insertUser(engine.db, 'ada');
    await readSnapshot(engine.db, async (snapshot) => {
      expect(await usernames(snapshot)).toEqual(['ada']);
      const other = new Sqlite(file);
      other.exec(`UPDATE users SET username = 'eve'`);
      other.close();
      const streamed: string[] = [];
      for await (const row of snapshot.selectFrom('users').select('username').stream()) {
        streamed.push(row.username);
      }
      expect(streamed).toEqual(['ada']);
      await expect(insertUser(snapshot, 'bob')).rejects.toThrow();
    });
    expect(await usernames(engine.db)).toEqual(['eve']);
  });
});

describe('isUniqueViolation', () => {
  test('is true for a duplicate key and false for other errors', async () => {
    await insertUser(engine.db, 'ada');
    const duplicate = await insertUser(engine.db, 'ada').catch((each: unknown) => each);
    expect(engine.isUniqueViolation(duplicate)).toBe(true);
    expect(engine.isUnavailable(duplicate)).toBe(false);
    const other = await sql`SELECT nothing FROM nowhere`
      .execute(engine.db)
      .catch((each: unknown) => each);
    expect(engine.isUniqueViolation(other)).toBe(false);
    expect(engine.isUnavailable(other)).toBe(false);
  });
});
