import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Engine } from '../../server/database/engine.ts';
import { openDatabase } from '../../server/database/open.ts';
import { prepare } from '../../server/database/prepared.ts';
import { transact } from '../../server/database/transaction.ts';

let dataDir: string;
let engine: Engine;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'space-service-prepared-'));
  engine = await openDatabase({ dataDir }, { runsMaintenance: false });
});
afterAll(async () => {
  await engine.close();
  await rm(dataDir, { recursive: true });
});

const describeTypes = prepare(
  { number: 'bigint', words: 'text', perhaps: 'nullable text' },
  (_, { number, words, perhaps }) =>
    sql<{
      types: string;
    }>`SELECT typeof(${number}) || ' ' || typeof(${words}) || ' ' || typeof(${perhaps}) AS types`,
);

test('A parameter has its declared type, regardless of earlier values', async () => {
  const run = (perhaps: string | null) =>
    describeTypes(engine.db, { number: 7, words: '7', perhaps });
  expect(await run(null)).toEqual([{ types: 'integer text null' }]);
  expect(await run('7')).toEqual([{ types: 'integer text text' }]);
  expect(await run(null)).toEqual([{ types: 'integer text null' }]);
});

const discard = prepare({ avatar: 'text' }, (db, { avatar }) =>
  db.insertInto('discarded_avatars').values({ avatar, remove_after: '' }),
);
const countDiscarded = prepare({}, (db) =>
  db.selectFrom('discarded_avatars').select(({ fn }) => fn.countAll<number>().as('count')),
);

test('Prepared writes and reads run in the given transaction', async () => {
  const rolledBack = transact(engine, async (trx) => {
    await discard(trx, { avatar: 'a' });
    expect(await countDiscarded(trx, {})).toEqual([{ count: 1 }]);
    throw new Error('Roll back.');
  });
  await expect(rolledBack).rejects.toThrow('Roll back.');
  expect(await countDiscarded(engine.db, {})).toEqual([{ count: 0 }]);
});
