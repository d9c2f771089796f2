import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Engine } from '../../server/database/engine.ts';
import { openDatabase } from '../../server/database/open.ts';
import { openFile } from '../../server/database/sqlite/connection.ts';
import { migrations } from '../../server/database/sqlite/migrations/index.ts';
import { readSnapshot, transact } from '../../server/database/transaction.ts';
import { Refusal } from '../../server/refusal.ts';

let folder: string;
let file: string;
let engine: Engine;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'database-'));
  file = join(folder, 'space-service.sqlite');
  engine = await openDatabase({ dataDir: folder }, { maintains: false });
});
afterEach(async () => {
  await engine.close();
  await rm(folder, { recursive: true });
});

const user = (name: string) => ({
  ...{ user_id: name, username: name, username_key: name, username_skeleton: name, bio: '' },
  ...{ email: name, email_key: name, password_hash: null, picture: null, is_verified: 0 },
  ...{ created_at: '2026-01-01T00:00:00.000Z', updated_at: '2026-01-01T00:00:00.000Z' },
});
const insert = (db: Engine['db'], name: string) =>
  db.insertInto('users').values(user(name)).execute();
const names = async (db: Engine['db']) =>
  (await db.selectFrom('users').select('username').orderBy('id').execute()).map(
    ({ username }) => username,
  );

test('Every handle is durable, checks references and overwrites what is deleted, also after a write', () => {
  const handle = openFile(join(folder, 'other.sqlite'));
  handle.exec('CREATE TABLE t (x); INSERT INTO t VALUES (1)');
  expect(handle.pragma('journal_mode', { simple: true })).toBe('wal');
  expect(handle.pragma('synchronous', { simple: true })).toBe(2);
  expect(handle.pragma('foreign_keys', { simple: true })).toBe(1);
  expect(handle.pragma('secure_delete', { simple: true })).toBe(1);
  handle.close();
});

test('What was written moves from the log into the file while nobody waits for it', async () => {
  await using maintained = await openDatabase({ dataDir: folder });
  const bio = 'x'.repeat(400_000);
  for (let i = 0; i < 20; i += 1) {
    await maintained.db
      .insertInto('users')
      .values({ ...user(`u${i}`), bio })
      .execute();
  }
  const handle = openFile(file);
  const copied = () => {
    const [log] = handle.pragma('wal_checkpoint(NOOP)') as { checkpointed: number }[];
    return log?.checkpointed;
  };
  await expect.poll(copied, { timeout: 10_000 }).toBeGreaterThan(1_000);
  handle.close();
});

describe('A transaction', () => {
  test('that takes long lets others come in between', async () => {
    let [turns, isOver] = [0, false];
    const others = (async () => {
      for (; !isOver; turns += 1) await turn();
    })();
    await transact(engine.db, async (trx) => {
      for (const begun = performance.now(); performance.now() - begun < 50; ) await names(trx);
    });
    isOver = true;
    await others;
    expect(turns).toBeGreaterThan(10);
  });

  test('keeps all of its work or nothing', async () => {
    await transact(engine.db, async (trx) => {
      await insert(trx, 'ada');
      await insert(trx, 'bob');
    });
    const failing = transact(engine.db, async (trx) => {
      await insert(trx, 'cleo');
      throw new Error('changed my mind');
    });
    await expect(failing).rejects.toThrow('changed my mind');
    expect(await names(engine.db)).toEqual(['ada', 'bob']);
  });

  test('refuses the use of the database itself inside, instead of waiting for itself', async () => {
    const confused = transact(engine.db, async () => insert(engine.db, 'ada'));
    await expect(confused).rejects.toThrow('use the transaction');
    const reading = transact(engine.db, async () => names(engine.db));
    await expect(reading).rejects.toThrow('use the transaction');
    await insert(engine.db, 'bob');
    expect(await names(engine.db)).toEqual(['bob']);
  });

  test('is not seen by others before its end', async () => {
    await transact(engine.db, async (trx) => {
      await insert(trx, 'ada');
      expect(await names(trx)).toEqual(['ada']);
      const stranger = new Sqlite(file, { readonly: true });
      expect(stranger.prepare('SELECT count(*) FROM users').pluck().get()).toBe(0);
      stranger.close();
    });
    expect(await names(engine.db)).toEqual(['ada']);
  });

  test('waits its turn while another process writes, and neither timers nor readers wait with it', async () => {
    await insert(engine.db, 'ada');
    const stranger = new Sqlite(file);
    stranger.exec('BEGIN IMMEDIATE');
    let isWritten = false;
    const writing = Promise.all([
      transact(engine.db, (trx) => insert(trx, 'bob')),
      insert(engine.db, 'cleo'),
    ]).then(() => {
      isWritten = true;
    });
    let ticks = 0;
    const timer = setInterval(() => (ticks += 1), 5);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(await names(engine.db)).toEqual(['ada']);
    expect(isWritten).toBe(false);
    expect(ticks).toBeGreaterThan(5);
    stranger.exec('COMMIT');
    await writing;
    clearInterval(timer);
    stranger.close();
    expect((await names(engine.db)).sort()).toEqual(['ada', 'bob', 'cleo']);
  });

  test('of many at once loses none', async () => {
    const all = Array.from({ length: 50 }, (_, i) => `user${i}`);
    await Promise.all(all.map((name) => transact(engine.db, (trx) => insert(trx, name))));
    expect((await names(engine.db)).sort()).toEqual([...all].sort());
  });

  test('that finds the disk full says so, leaves nothing, and the next one goes on', async () => {
    await insert(engine.db, 'ada');
    await transact(engine.db, async (trx) => {
      const { rows } = await sql<{ page_count: number }>`PRAGMA page_count`.execute(trx);
      await sql`PRAGMA max_page_count = ${sql.lit((rows[0]?.page_count ?? 0) + 2)}`.execute(trx);
    });
    const bio = 'x'.repeat(100_000);
    const big = transact(engine.db, (trx) =>
      trx
        .insertInto('users')
        .values({ ...user('big'), bio })
        .execute(),
    );
    const error = await big.catch((each: unknown) => each);
    expect(engine.isUnavailable(error)).toBe(true);
    expect(await names(engine.db)).toEqual(['ada']);
    await transact(engine.db, (trx) => sql`PRAGMA max_page_count = 1000000`.execute(trx));
    await insert(engine.db, 'bob');
    expect(await names(engine.db)).toEqual(['ada', 'bob']);
  });
});

test('A snapshot stays as it is while others write, and streams', async () => {
  await insert(engine.db, 'ada');
  await readSnapshot(engine.db, async (snapshot) => {
    expect(await names(snapshot)).toEqual(['ada']);
    const stranger = new Sqlite(file);
    stranger.exec(`UPDATE users SET username = 'eve'`);
    stranger.close();
    const streamed: string[] = [];
    for await (const row of snapshot.selectFrom('users').select('username').stream())
      streamed.push(row.username);
    expect(streamed).toEqual(['ada']);
    await expect(insert(snapshot, 'bob')).rejects.toThrow();
  });
  expect(await names(engine.db)).toEqual(['eve']);
});

test('A row that a unique index refuses is told from other errors', async () => {
  await insert(engine.db, 'ada');
  const error = await insert(engine.db, 'ada').catch((each: unknown) => each);
  expect(engine.isUniqueViolation(error)).toBe(true);
  expect(engine.isUnavailable(error)).toBe(false);
  const other = await sql`SELECT nothing FROM nowhere`
    .execute(engine.db)
    .catch((each: unknown) => each);
  expect(engine.isUniqueViolation(other)).toBe(false);
  expect(engine.isUnavailable(other)).toBe(false);
});

test('Opening a database again finds everything and migrates nothing', async () => {
  await insert(engine.db, 'ada');
  await using again = await openDatabase({ dataDir: folder }, { maintains: false });
  expect(await names(again.db)).toEqual(['ada']);
  const { rows } = await sql`SELECT name FROM kysely_migration`.execute(again.db);
  expect(rows).toEqual(Object.keys(migrations).map((name) => ({ name })));
});

describe('Maintenance', () => {
  let kept: string;
  beforeAll(async () => {
    kept = await mkdtemp(join(tmpdir(), 'maintenance-'));
  });
  afterAll(() => rm(kept, { recursive: true }));

  const until = async (isDone: () => Promise<boolean>) => {
    const deadline = Date.now() + 15_000;
    while (!(await isDone())) {
      if (Date.now() > deadline) expect.fail('It does not happen.');
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  const segments = async ({ db }: Engine) => {
    const { rows } = await sql<{
      count: number;
    }>`SELECT count(DISTINCT segid) AS count FROM word_index_idx`.execute(db);
    return rows[0]?.count ?? 0;
  };

  const openSessionOf = async ({ db }: Engine, user: number) => {
    const [created_at, last_used_at] = ['2026-01-01', '2026-01-01'];
    const values = { token_hash: 'none', user, created_at, last_used_at };
    return db.insertInto('sessions').values(values).returning('id').executeTakeFirstOrThrow();
  };

  test('merges what many small writes leave in the word index, and does a purge that was pending', async () => {
    {
      await using idle = await openDatabase({ dataDir: kept }, { maintains: false });
      for (let key = 1; key <= 300; key += 1) {
        const words = [`word${key}`, 'common'];
        await transact(idle.db, (trx) => idle.text.add(trx, key, { title: words, all: words }));
      }
      expect(await segments(idle)).toBeGreaterThan(40);
      await idle.db.insertInto('pending_purges').values({ requested_at: 'now' }).execute();
    }
    await using busy = await openDatabase({ dataDir: kept });
    await until(async () => (await segments(busy)) <= 4);
    await until(
      async () => (await busy.db.selectFrom('pending_purges').select('id').execute()).length === 0,
    );
  });

  test('reports an error of a task with its code, and goes on', async () => {
    await using idle = await openDatabase({ dataDir: kept }, { maintains: false });
    const stranger = new Sqlite(join(kept, 'space-service.sqlite'));
    await insert(idle.db, 'ada');
    const { id: session } = await openSessionOf(idle, 1);
    stranger.exec(
      `CREATE TRIGGER refusal BEFORE DELETE ON users BEGIN SELECT RAISE(ABORT, 'no'); END`,
    );
    await expect(idle.run('eraseAccount', { id: 1, session })).rejects.toMatchObject({
      code: 'SQLITE_CONSTRAINT_TRIGGER',
    });
    stranger.exec('DROP TRIGGER refusal');
    stranger.close();
    // Meanwhile the session that asked may have ended: nobody's account is erased by a token that is no good any more.
    const ended = idle.run('eraseAccount', { id: 1, session: session + 1 });
    await expect(ended).rejects.toBeInstanceOf(Refusal);
    await expect(ended).rejects.toMatchObject({ code: 'unauthenticated' });
    expect(await names(idle.db)).toEqual(['ada']);
    await idle.run('eraseAccount', { id: 1, session });
    expect(await names(idle.db)).toEqual([]);
  });
});
