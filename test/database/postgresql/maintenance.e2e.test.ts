import { mkdir, mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Engine } from '../../../server/database/engine.ts';
import { openPostgresql } from '../../../server/database/postgresql/engine.ts';
import { PostgresqlMaintenance } from '../../../server/database/postgresql/maintenance/maintenance.ts';
import { indexer } from '../../../server/search/document-rows.ts';
import { type PostgresqlServer, startPostgresql } from '../../support/postgresql.ts';

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

const RUNNING = new AbortController().signal;

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

test('Deleted rows are erased although the copy of the search index cannot be opened', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'copy-'));
  await mkdir(join(folder.path, 'unusable.sqlite'));
  let rounds = 0;
  const tasks = {
    refreshDictionary: async () => true,
    eraseDeletedRows: async () => ++rounds > 0,
    indexer,
  };
  const maintenance = new PostgresqlMaintenance(engine, RUNNING, tasks, {
    indexFolder: folder.path,
  });
  await maintenance.runRound();
  expect(rounds).toBe(1);
});
