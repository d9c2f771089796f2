import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Engine } from '../../../server/database/engine.ts';
import { openPostgresql } from '../../../server/database/postgresql/engine.ts';
import { PostgresqlMaintenance } from '../../../server/database/postgresql/maintenance/maintenance.ts';
import { type PostgresqlServer, startPostgresql } from '../../support/postgresql.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { countRows } from './count-rows.ts';

let server: PostgresqlServer;
let databases = 0;
let engine: Engine;

beforeAll(async () => {
  server = await startPostgresql();
});
afterAll(() => server[Symbol.asyncDispose]());
beforeEach(async () => {
  const url = await server.createDatabase(`maintenance${++databases}`);
  engine = await openPostgresql(url, { runsMaintenance: false });
});
afterEach(() => engine.close());

const documentOf = (key: number, word: string) => ({ key, words: { title: [word], all: [word] } });

const RUNNING = new AbortController().signal;

const raiseRevision = () => sql`SELECT raise_search_revision()`.execute(engine.db);

test('Changes of the word index are merged after a time without writes', async () => {
  const tasks = { refreshDictionary: async () => true, eraseDeletedRows: async () => true };
  const maintenance = new PostgresqlMaintenance(engine, RUNNING, tasks, 0);
  await engine.wordIndex.add(engine.db, [documentOf(1, 'rye'), documentOf(2, 'oats')]);
  await maintenance.runRound();
  await raiseRevision();
  await maintenance.runRound();
  expect(await countRows(engine.db, 'word_changes')).toBe(2);
  await maintenance.runRound();
  expect(await countRows(engine.db, 'word_changes')).toBe(0);
  expect(await countRows(engine.db, 'word_blocks')).toBe(1);
});

test('Another process takes over as soon as the one that runs maintenance stops', async () => {
  const rounds: string[] = [];
  const createMaintenance = (name: string) =>
    new PostgresqlMaintenance(engine, RUNNING, {
      refreshDictionary: async () => true,
      eraseDeletedRows: async () => rounds.push(name) > 0,
    });
  const [first, second] = [createMaintenance('first'), createMaintenance('second')];
  await first.runRound();
  await second.runRound();
  await second.stop();
  await second.runRound();
  expect(rounds).toEqual(['first']);
  await first.stop();
  await second.runRound();
  expect(rounds).toEqual(['first', 'second']);
});

test('A process that is stopping starts no refresh of the dictionary', async () => {
  const stopping = new AbortController();
  let refreshes = 0;
  const maintenance = new PostgresqlMaintenance(engine, stopping.signal, {
    refreshDictionary: async () => {
      refreshes += 1;
      return true;
    },
    async eraseDeletedRows() {
      stopping.abort();
      return true;
    },
  });
  await maintenance.runRound();
  expect(refreshes).toBe(0);
});

test('After a failed merge, merges continue during a refresh of the dictionary', async () => {
  let merges = 0;
  const optimize: Engine['wordIndex']['optimize'] = async (trx) => {
    merges += 1;
    if (merges === 1) throw Object.assign(new Error('lock timeout'), { code: '55P03' });
    await engine.wordIndex.optimize(trx);
  };
  const maintenance = new PostgresqlMaintenance(
    { ...engine, wordIndex: { ...engine.wordIndex, optimize } },
    RUNNING,
    {
      async refreshDictionary() {
        await waitUntil(
          'The second merge is done',
          async () => (await countRows(engine.db, 'word_changes')) === 0,
        );
        return true;
      },
      eraseDeletedRows: async () => true,
    },
    0,
  );
  await engine.wordIndex.add(engine.db, [documentOf(1, 'rye')]);
  await maintenance.runRound();
  expect(merges).toBe(2);
});
