import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import fc from 'fast-check';
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Engine } from '../../server/database/engine.ts';
import { openDatabase } from '../../server/database/open.ts';
import { SqliteHandle } from '../../server/database/sqlite/handle.ts';
import { transact } from '../../server/database/transaction.ts';
import { runAs } from '../../server/system/senders.ts';
import { insertUser, usernames } from './users.ts';

let folder: string;
let engine: Engine;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'commit-group-'));
  engine = await openDatabase({ dataDir: folder }, { runsMaintenance: false });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await engine.close();
  await rm(folder, { recursive: true });
});

const add = (name: string) => transact(engine, (trx) => insertUser(trx, name));

/** Otherwise, a slow machine would end a group early. */
const stopClock = () => vi.spyOn(performance, 'now').mockReturnValue(performance.now());

test('Transactions that begin together share a commit', async () => {
  const exec = vi.spyOn(SqliteHandle.prototype, 'exec');
  stopClock();
  await Promise.all(Array.from({ length: 10 }, (_, i) => add(`user${i}`)));
  const commits = exec.mock.calls.filter(([statement]) => statement === 'COMMIT');
  expect(commits).toHaveLength(1);
  expect(await usernames(engine.db)).toHaveLength(10);
});

test('A network with many transactions does not delay the acknowledgement of others', async () => {
  const exec = vi.spyOn(SqliteHandle.prototype, 'exec');
  // Transactions take time, but far less than ends a group.
  let now = performance.now();
  vi.spyOn(performance, 'now').mockImplementation(() => {
    now += 0.001;
    return now;
  });
  const networks = ['many', 'many', 'many', 'one', 'many', 'many'];
  const commitsBefore = await Promise.all(
    networks.map((network, request) =>
      runAs({ network, account: network, request }, async () => {
        await add(`user${request}`);
        return exec.mock.calls.filter(([statement]) => statement === 'COMMIT').length;
      }),
    ),
  );
  expect(commitsBefore).toEqual([1, 2, 2, 1, 2, 2]);
});

test('Exactly the transactions and writes that are acknowledged are stored', async () => {
  const step = fc.record({
    fails: fc.boolean(),
    isTransaction: fc.boolean(),
    pausesBefore: fc.nat(3),
    pausesWithin: fc.nat(2),
  });
  let count = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const stored: string[] = [];
      const run = async ({ fails, isTransaction, pausesBefore, pausesWithin }: Step) => {
        count += 1;
        const name = `user${count}`;
        for (let i = 0; i < pausesBefore; i += 1) await yieldToEventLoop();
        if (!isTransaction) await insertUser(engine.db, name);
        else {
          await transact(engine, async (trx) => {
            await insertUser(trx, name);
            for (let i = 0; i < pausesWithin; i += 1) await yieldToEventLoop();
            // The second row has a key that exists.
            if (fails) await insertUser(trx, name);
          });
        }
        expect(await usernames(engine.db)).toContain(name);
        stored.push(name);
      };
      type Step = (typeof steps)[number];
      const results = await Promise.allSettled(steps.map(run));
      for (const [i, { status }] of results.entries()) {
        const { fails, isTransaction } = steps[i] as Step;
        expect(status).toBe(fails && isTransaction ? 'rejected' : 'fulfilled');
      }
      expect((await usernames(engine.db)).sort()).toEqual(stored.sort());
      await engine.db.deleteFrom('users').execute();
    }),
    { numRuns: 50 },
  );
});

test.for(['COMMIT', 'RELEASE member', 'ROLLBACK TO member; RELEASE member'])(
  'If %s fails, all transactions of the group fail, and the next one succeeds',
  async (failing) => {
    const { exec } = SqliteHandle.prototype;
    let hasFailed = false;
    stopClock();
    vi.spyOn(SqliteHandle.prototype, 'exec').mockImplementation(function (
      this: SqliteHandle,
      statement,
    ) {
      if (statement === failing && !hasFailed) {
        hasFailed = true;
        throw new Error('the disk failed');
      }
      exec.call(this, statement);
    });
    const results = await Promise.allSettled([
      add('ada'),
      transact(engine, async (trx) => {
        await insertUser(trx, 'bob');
        // Longer than a group without further transactions waits.
        for (let i = 0; i < 3; i += 1) await yieldToEventLoop();
        if (failing.startsWith('ROLLBACK')) throw new Error('changed my mind');
      }),
    ]);
    expect(hasFailed).toBe(true);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await usernames(engine.db)).toEqual([]);
    await add('cleo');
    expect(await usernames(engine.db)).toEqual(['cleo']);
  },
);

test('If SQLite rolls back because of one transaction, the others of its group fail, too', async () => {
  stopClock();
  const results = await Promise.allSettled([
    add('ada'),
    transact(engine, async (trx) => {
      await sql`ROLLBACK`.execute(trx);
      await sql`SELECT nothing FROM nowhere`.execute(trx);
    }),
    add('bob'),
  ]);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
  expect(await usernames(engine.db)).toEqual(['bob']);
});
