import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Engine } from '../../server/database/engine.ts';
import { openDatabase } from '../../server/database/open.ts';
import { transact } from '../../server/database/transaction.ts';

let dataDir: string;
let engine: Engine;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'activity-'));
  engine = await openDatabase({ dataDir }, { runsMaintenance: false });
});
afterEach(async () => {
  await engine.close();
  await rm(dataDir, { recursive: true });
});

test('counts only the time inside the database', async () => {
  const before = engine.activity().busySeconds;
  await sleep(300);
  expect(engine.activity().busySeconds - before).toBeLessThan(0.1);

  const startedAt = performance.now();
  await sql`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000)
    SELECT max(i) FROM n`.execute(engine.db);
  const seconds = (performance.now() - startedAt) / 1000;
  const counted = engine.activity().busySeconds - before;
  expect(counted).toBeGreaterThan(seconds / 2);
  expect(counted).toBeLessThan(seconds + 0.1);
});

test('counts writers that wait for each other or for another process, and their waiting time', async () => {
  const other = new Sqlite(join(dataDir, 'space-service.sqlite'));
  other.exec('BEGIN IMMEDIATE');
  const before = engine.activity();
  expect(before.waitingWriters).toBe(0);
  const transactions = [0, 1, 2].map(() =>
    transact(engine, async (trx) => {
      await trx.deleteFrom('sessions').execute();
    }),
  );
  const write = engine.db.deleteFrom('sessions').execute();
  await sleep(300);
  const during = engine.activity();
  expect(during.waitingWriters).toBe(4);
  // Waiting does not block the thread, so it is not busy time.
  expect(during.busySeconds - before.busySeconds).toBeLessThan(0.2);
  other.exec('COMMIT');
  other.close();
  await Promise.all([...transactions, write]);
  const after = engine.activity();
  expect(after.waitingWriters).toBe(0);
  expect(after.waitSeconds - before.waitSeconds).toBeGreaterThan(4 * 0.25);
});
