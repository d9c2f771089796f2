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

let folder: string;
let engine: Engine;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'activity-'));
  engine = await openDatabase({ dataDir: folder }, { runsMaintenance: false });
});
afterEach(async () => {
  await engine.close();
  await rm(folder, { recursive: true });
});

test('The time inside the database is counted, and no other', async () => {
  const before = engine.activity().busySeconds;
  await sleep(300);
  expect(engine.activity().busySeconds - before).toBeLessThan(0.1);

  const begun = performance.now();
  await sql`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000)
    SELECT max(i) FROM n`.execute(engine.db);
  const taken = (performance.now() - begun) / 1000;
  const counted = engine.activity().busySeconds - before;
  expect(counted).toBeGreaterThan(taken / 2);
  expect(counted).toBeLessThan(taken + 0.1);
});

test('Writers that wait are counted, in their process and for another, and so is their time', async () => {
  const other = new Sqlite(join(folder, 'space-service.sqlite'));
  other.exec('BEGIN IMMEDIATE');
  const before = engine.activity();
  expect(before.waitingWriters).toBe(0);
  const works = [0, 1, 2].map(() =>
    transact(engine.db, async (trx) => {
      await trx.deleteFrom('sessions').execute();
    }),
  );
  const write = engine.db.deleteFrom('sessions').execute();
  await sleep(300);
  expect(engine.activity().waitingWriters).toBe(4);
  other.exec('COMMIT');
  other.close();
  await Promise.all([...works, write]);
  const after = engine.activity();
  expect(after.waitingWriters).toBe(0);
  expect(after.waitSeconds - before.waitSeconds).toBeGreaterThan(4 * 0.25);
  // Waiting keeps nobody from working.
  expect(after.busySeconds - before.busySeconds).toBeLessThan(0.2);
});
