import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Engine } from '../../../server/database/engine.ts';
import { PostgresqlMaintenance } from '../../../server/database/postgresql/maintenance/maintenance.ts';
import { openPostgresql } from '../../../server/database/postgresql/open.ts';
import { type PostgresqlServer, startPostgresql } from '../../support/postgresql.ts';

let server: PostgresqlServer;
let engine: Engine;

beforeEach(async () => {
  server = await startPostgresql();
  const url = await server.createDatabase('changes');
  engine = await openPostgresql(url, { migrate: true, runsMaintenance: false });
});
afterEach(async () => {
  await engine.close();
  await server[Symbol.asyncDispose]();
});

const documentOf = (key: number, word: string) => ({ key, words: { title: [word], all: [word] } });

const countRows = async (table: string) => {
  const { count } = await engine.db
    .selectFrom(table as never)
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return count;
};

const raiseRevision = () => sql`SELECT raise_search_revision()`.execute(engine.db);

test('Maintenance merges changes of the word index after a time without writes', async () => {
  const tasks = { refreshDictionary: async () => true, eraseDeletedRows: async () => true };
  const maintenance = new PostgresqlMaintenance(engine, tasks, 0);
  await engine.wordIndex.add(engine.db, [documentOf(1, 'rye'), documentOf(2, 'oats')]);
  await maintenance.runRound();
  await raiseRevision();
  await maintenance.runRound();
  expect(await countRows('word_changes')).toBe(2);
  await maintenance.runRound();
  expect(await countRows('word_changes')).toBe(0);
  expect(await countRows('word_blocks')).toBe(1);
});

test('Another process takes over maintenance as soon as the one that runs it stops', async () => {
  const rounds: string[] = [];
  const createMaintenance = (name: string) =>
    new PostgresqlMaintenance(engine, {
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

test('Removing an unmerged document leaves no trace of it', async () => {
  await engine.wordIndex.add(engine.db, [documentOf(1, 'rye')]);
  await engine.wordIndex.remove(engine.db, [documentOf(1, 'rye')]);
  expect(await countRows('word_changes')).toBe(0);
  expect(await countRows('word_blocks')).toBe(0);
});
