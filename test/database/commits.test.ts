import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { shows } from '../../server/database/snapshot.ts';
import { copyFile } from '../../server/database/sqlite/copy.ts';
import { openSqlite } from '../../server/database/sqlite/engine.ts';
import { transact } from '../../server/database/transaction.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'space-service-commits-'));
});
afterEach(() => rm(folder, { recursive: true }));

const open = (name: string) => openSqlite(join(folder, name), { runsMaintenance: false });

test('a snapshot shows the numbers of the transactions that were committed before it', async () => {
  await using engine = await open('original');
  const read = async () => (await engine.readCommits()).snapshot;
  const entered = Promise.withResolvers<number>();
  const leaving = Promise.withResolvers<void>();
  const ended = transact(engine, async (trx) => {
    entered.resolve(await engine.transactionNumber(trx));
    await leaving.promise;
  });
  const number = await entered.promise;
  expect(shows(await read(), number)).toBe(false);
  leaving.resolve();
  await ended;
  expect(shows(await read(), number)).toBe(true);
});

test('a rolled back transaction leaves its number to the next one', async () => {
  await using engine = await open('original');
  const next = (fails: boolean) =>
    transact(engine, async (trx) => {
      const number = await engine.transactionNumber(trx);
      if (fails) throw new Error(`${number}`);
      return number;
    });
  const error = await next(true).catch((thrown: Error) => thrown);
  expect(await next(false)).toBe(Number((error as Error).message));
});

test('a restored backup begins an epoch, and another start of the same file does not', async () => {
  const epochs: string[] = [];
  const start = async (name: string) => {
    await using engine = await open(name);
    epochs.push((await engine.readCommits()).epoch);
  };
  await start('original');
  await copyFile(join(folder, 'original'), join(folder, 'backup'));
  for (const name of ['original', 'backup', 'backup']) await start(name);
  const [original, again, backup, backupAgain] = epochs;
  expect(again).toBe(original);
  expect(backup).not.toBe(original);
  expect(backupAgain).toBe(backup);
});
