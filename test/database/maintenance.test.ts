import { statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Engine } from '../../server/database/engine.ts';
import { openDatabase } from '../../server/database/open.ts';
import { SqliteMaintenance } from '../../server/database/sqlite/maintenance/maintenance.ts';
import { readSnapshot, transact } from '../../server/database/transaction.ts';
import { DomainError } from '../../server/errors.ts';
import { tasksModule } from '../../server/tasks.ts';
import { withDatabase } from '../support/integrity.ts';
import { spaceRow } from './spaces.ts';
import { insertSession, insertUser, usernames, userRow } from './users.ts';

let dataDir: string;
let file: string;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'maintenance-'));
  file = join(dataDir, 'space-service.sqlite');
});
afterEach(async () => {
  vi.restoreAllMocks();
  await rm(dataDir, { recursive: true });
});

describe('Maintenance', () => {
  test('checkpoints the write-ahead log', async () => {
    await using engine = await openDatabase({ dataDir });
    const bio = 'x'.repeat(400_000);
    for (let i = 0; i < 20; i += 1) {
      const row = { ...userRow(`u${i}`), bio };
      await engine.db.insertInto('users').values(row).execute();
    }
    const sqlite = new Sqlite(file);
    const checkpointedPages = () => {
      const [result] = sqlite.pragma('wal_checkpoint(NOOP)') as { checkpointed: number }[];
      return result?.checkpointed;
    };
    await expect.poll(checkpointedPages).toBeGreaterThan(1_000);
    sqlite.close();
  });

  test('the write-ahead log does not keep the size of its largest transaction', async () => {
    await using engine = await openDatabase({ dataDir }, { runsMaintenance: false });
    const bio = 'x'.repeat(400_000);
    await transact(engine, async (trx) => {
      for (let i = 0; i < 40; i += 1) {
        await trx
          .insertInto('users')
          .values({ ...userRow(`u${i}`), bio })
          .execute();
      }
    });
    const walBytes = () => statSync(`${file}-wal`).size;
    expect(walBytes()).toBeGreaterThan(12_000_000);
    withDatabase(file, (sqlite) => sqlite.pragma('wal_checkpoint(PASSIVE)'));
    await insertUser(engine.db, 'later');
    expect(walBytes()).toBeLessThan(10_000_000);
  });

  test('merges the segments of the word index after many small writes', async () => {
    await addSegments();
    await using engine = await openDatabase({ dataDir });
    await expect.poll(() => countSegments(engine)).toBeLessThanOrEqual(4);
  });

  test('lets tasks begin while it reads the terms of the word index', async () => {
    await using engine = await openDatabase({ dataDir }, { runsMaintenance: false });
    const all = Array.from({ length: 10_000 }, (_, i) => `word${i}`);
    await transact(engine, (trx) =>
      engine.wordIndex.add(trx, [{ key: 1, words: { title: [], all } }]),
    );
    let turns = 0;
    const count = () => {
      turns += 1;
      immediate = setImmediate(count);
    };
    let immediate = setImmediate(count);
    let terms = 0;
    await readSnapshot(engine.db, async (snapshot) => {
      for await (const _ of engine.wordIndex.terms(snapshot)) terms += 1;
    });
    clearImmediate(immediate);
    // The words, and the slice term of the document.
    expect(terms).toBe(all.length + 1);
    expect(turns).toBeGreaterThanOrEqual(9);
  });

  test('performs a purge that was pending when the database was closed', async () => {
    await addSegments();
    {
      await using idle = await openDatabase({ dataDir }, { runsMaintenance: false });
      await idle.db.insertInto('pending_purges').values({ requested_at: 'now' }).execute();
    }
    await using engine = await openDatabase({ dataDir });
    const pending = engine.db.selectFrom('pending_purges').select('id');
    await expect.poll(() => pending.execute()).toEqual([]);
    expect(await countSegments(engine)).toBeLessThanOrEqual(4);
  });

  test('performs a purge only after it has erased the rows of the deleted account', async () => {
    await using engine = await openDatabase({ dataDir }, { runsMaintenance: false });
    const pending = engine.db.selectFrom('pending_purges').select('id');
    let isDeleted = false;
    const maintenance = new SqliteMaintenance(engine.db, file, new AbortController().signal, {
      refreshDictionary: async () => true,
      async eraseDeletedRows() {
        // The account is deleted when the first erasure has found no rows.
        if (!isDeleted) await transact(engine, (trx) => engine.requestPurge(trx));
        isDeleted = true;
        return true;
      },
    });
    await maintenance.runRound();
    expect(await pending.execute()).toHaveLength(1);
    await maintenance.runRound();
    expect(await pending.execute()).toEqual([]);
  });

  test('repeats a purge, after a pause, if a space deleted meanwhile prevents the refresh of the dictionary', async () => {
    await using engine = await openDatabase({ dataDir }, { runsMaintenance: false });
    await transact(engine, (trx) => engine.requestPurge(trx));
    const pending = engine.db.selectFrom('pending_purges').select('id');
    let isPrevented = true;
    const maintenance = new SqliteMaintenance(engine.db, file, new AbortController().signal, {
      async refreshDictionary() {
        await sleep(100);
        return !isPrevented;
      },
      eraseDeletedRows: async () => true,
    });
    await maintenance.runRound();
    expect(await pending.execute()).toHaveLength(1);
    isPrevented = false;
    await maintenance.runRound();
    expect(await pending.execute()).toHaveLength(1);
    const runRound = async () => {
      await maintenance.runRound();
      return pending.execute();
    };
    await expect.poll(runRound).toEqual([]);
  });

  test.each(['SQLITE_FULL', 'SQLITE_CORRUPT'])(
    'warns of a purge that fails with %s, and pauses before it is repeated',
    async (code) => {
      await using engine = await openDatabase({ dataDir }, { runsMaintenance: false });
      await transact(engine, (trx) => engine.requestPurge(trx));
      const emitWarning = vi.spyOn(process, 'emitWarning').mockReturnValue();
      const maintenance = new SqliteMaintenance(engine.db, file, new AbortController().signal, {
        refreshDictionary: vi
          .fn(async () => true)
          .mockRejectedValueOnce(Object.assign(new Error('no more space'), { code })),
        eraseDeletedRows: async () => true,
      });
      for (let round = 0; round < 5; round += 1) await maintenance.runRound();
      expect(emitWarning.mock.calls).toEqual([[expect.stringMatching(/retry.*no more space$/)]]);
      const pending = engine.db.selectFrom('pending_purges').select('id');
      expect(await pending.execute()).toHaveLength(1);
    },
  );

  test('does not refresh the dictionary for a purge while the service stops', async () => {
    await using engine = await openDatabase({ dataDir }, { runsMaintenance: false });
    await transact(engine, (trx) => engine.requestPurge(trx));
    const stopping = new AbortController();
    const refreshDictionary = vi.fn(async () => true);
    const maintenance = new SqliteMaintenance(engine.db, file, stopping.signal, {
      refreshDictionary,
      async eraseDeletedRows() {
        stopping.abort();
        return true;
      },
    });
    await maintenance.runRound();
    expect(refreshDictionary).not.toHaveBeenCalled();
  });

  test('performs more pending purges than a statement has parameters', async () => {
    {
      await using idle = await openDatabase({ dataDir }, { runsMaintenance: false });
      await sql`
        INSERT INTO pending_purges (requested_at)
        WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 40000)
        SELECT 'now' FROM numbers`.execute(idle.db);
    }
    await using engine = await openDatabase({ dataDir });
    const pending = engine.db.selectFrom('pending_purges').select('id');
    await expect.poll(() => pending.execute()).toEqual([]);
  });
});

describe('runTask', () => {
  test('runs the task even if every round of maintenance fails', async () => {
    await using engine = await openDatabase({ dataDir }, { tasksModule });
    await insertUser(engine.db, 'ada');
    const sessionPk = await insertSession(engine.db, 1);
    const emitWarning = vi.spyOn(process, 'emitWarning').mockReturnValue();
    await sql`ALTER TABLE pending_purges RENAME COLUMN id TO other`.execute(engine.db);
    await expect.poll(() => emitWarning.mock.calls.length).toBeGreaterThan(0);
    await engine.db.insertInto('spaces').values(spaceRow('s1', 1)).execute();
    await engine.runTask('eraseSpace', { pk: 1, sessionPk });
    expect(await engine.db.selectFrom('spaces').select('space_id').execute()).toEqual([]);
  });

  test('reports the error of a failed task with its code, and runs the next task', async () => {
    await using engine = await openDatabase({ dataDir }, { runsMaintenance: false, tasksModule });
    await insertUser(engine.db, 'ada');
    const sessionPk = await insertSession(engine.db, 1);
    const sqlite = new Sqlite(file);
    sqlite.exec(
      `CREATE TRIGGER refusal BEFORE DELETE ON users BEGIN SELECT RAISE(ABORT, 'no'); END`,
    );
    const failing = engine.runTask('eraseAccount', { pk: 1, sessionPk });
    await expect(failing).rejects.toMatchObject({ code: 'SQLITE_CONSTRAINT_TRIGGER' });
    expect(await usernames(engine.db)).toEqual(['ada']);
    sqlite.exec('DROP TRIGGER refusal');
    sqlite.close();
    await engine.runTask('eraseAccount', { pk: 1, sessionPk });
    expect(await usernames(engine.db)).toEqual([]);
  });

  test('rejects with the DomainError of a task, such as for an ended session', async () => {
    await using engine = await openDatabase({ dataDir }, { runsMaintenance: false, tasksModule });
    await insertUser(engine.db, 'ada');
    const endedSession = (await insertSession(engine.db, 1)) + 1;
    const failing = engine.runTask('eraseAccount', { pk: 1, sessionPk: endedSession });
    await expect(failing).rejects.toBeInstanceOf(DomainError);
    await expect(failing).rejects.toMatchObject({ code: 'unauthenticated' });
    expect(await usernames(engine.db)).toEqual(['ada']);
  });
});

/** Adds 300 documents to the word index. Each has its own transaction, which adds a segment. */
async function addSegments(): Promise<void> {
  await using engine = await openDatabase({ dataDir }, { runsMaintenance: false });
  for (let key = 1; key <= 300; key += 1) {
    const words = [`word${key}`, 'common'];
    await transact(engine, (trx) =>
      engine.wordIndex.add(trx, [{ key, words: { title: words, all: words } }]),
    );
  }
  expect(await countSegments(engine)).toBeGreaterThan(40);
}

async function countSegments({ db }: Engine): Promise<number> {
  const { rows } = await sql<{
    count: number;
  }>`SELECT count(DISTINCT segid) AS count FROM word_index_idx`.execute(db);
  return rows[0]?.count ?? 0;
}
