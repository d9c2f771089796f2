import { cp, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { Space } from '../../generated/types.gen.ts';
import { indexMessages } from '../../server/message-words/indexing.ts';
import { startApp, type TestApp } from '../support/app.ts';
import { runCommand } from '../support/commands.ts';
import { damageFreePages, damageSchema, damageTable } from '../support/damage.ts';
import { assertIndexed, databaseFile, withDatabase } from '../support/integrity.ts';
import { createSpace, sendMessage, spaceCreation } from '../support/spaces.ts';
import { waitUntil } from '../support/wait-until.ts';

let intactDir: string;
let dataDir: string;
let environment: Record<string, string>;
let token: string;

beforeAll(async () => {
  intactDir = await mkdtemp(join(tmpdir(), 'intact-'));
  await using app = await startApp({ DATA_DIR: intactDir });
  const ada = await app.register('ada');
  token = ada.token;
  for (let i = 0; i < SPACES; i += 1) {
    await createSpace(ada, { title: `Tea house ${i}`, tags: ['tea', `tag${i}`] });
  }
});
afterAll(() => rm(intactDir, { recursive: true }));

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'damage-'));
  environment = { DATA_DIR: dataDir };
  await cp(intactDir, dataDir, { recursive: true });
  await rm(join(dataDir, 'avatars'), { recursive: true, force: true });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await rm(dataDir, { recursive: true });
});

const SPACES = 60;

/** Between two rounds of requests, which would otherwise slow down the repair. */
const PAUSE_MS = 100;

const damage = (table: string) => damageTable(databaseFile(dataDir), table);

/** Changes when a table is created. */
const schemaVersion = () =>
  withDatabase(databaseFile(dataDir), (sqlite) =>
    sqlite.pragma('schema_version', { simple: true }),
  );

async function titles(app: TestApp): Promise<string[] | number> {
  const { data, response } = await api.searchSpaces({
    client: app.client(),
    query: { q: 'tea', limit: 100 },
  });
  return data ? data.map(({ title }) => title) : (response?.status ?? 0);
}

describe('a damaged search index', () => {
  test.each([
    'word_index_data',
    'public_spaces',
    'tag_hits',
    'tag_counts',
    'dictionary',
    'search_revision',
  ])('is rebuilt while the service runs: %s', async (table) => {
    damage(table);
    const version = schemaVersion();
    vi.spyOn(process, 'emitWarning').mockReturnValue();
    const app = await startApp(environment);
    const statuses = new Set<unknown>();
    const client = app.client(token);
    // Writes the damaged table.
    const create = () =>
      api.createSpace({ client, body: spaceCreation({ title: 'Coffee', tags: ['coffee'] }) });
    await waitUntil('the index is created again', async () => {
      await sleep(PAUSE_MS);
      statuses.add((await create()).response?.status);
      return schemaVersion() !== version;
    });
    await waitUntil('searches find all spaces', async () => {
      await sleep(PAUSE_MS);
      const found = await titles(app);
      if (typeof found === 'number') statuses.add(found);
      statuses.add((await app.fetch('/api/tags')).status);
      expect((await app.fetch('/readyz')).status).toBe(200);
      expect((await api.getProfile({ client })).response?.status).toBe(200);
      return Array.isArray(found) && found.length === SPACES;
    });
    expect((await create()).response?.status).toBe(201);
    expect([...statuses].filter((status) => ![200, 201, 503].includes(status as number))).toEqual(
      [],
    );
    await app[Symbol.asyncDispose]();
    expect(await runCommand('check-database', ['--full'], environment)).toMatchObject({
      code: 0,
      stdout: 'The database is not damaged.\n',
    });
    await assertIndexed(dataDir);
  });

  test('does not prevent the start if a table is missing', async () => {
    withDatabase(databaseFile(dataDir), (sqlite) => sqlite.exec('DROP TABLE public_spaces'));
    const warn = vi.spyOn(process, 'emitWarning').mockReturnValue();
    await using app = await startApp(environment);
    expect(await titles(app)).toHaveLength(SPACES);
    expect(warn.mock.calls.flat().join()).toContain('are missing');
  });

  test('does not prevent a backup', async () => {
    damage('word_index_data');
    damage('public_spaces');
    const folder = await mkdtemp(join(tmpdir(), 'backup-'));
    try {
      const result = await runCommand('backup', [join(folder, 'backup.sqlite')], environment);
      expect(result).toMatchObject({ code: 0, stderr: expect.stringContaining('has been copied') });
      await rename(join(folder, 'backup.sqlite'), databaseFile(dataDir));
      await using app = await startApp(environment);
      expect(await titles(app)).toHaveLength(SPACES);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test('does not prevent compaction', async () => {
    damage('word_index_data');
    expect(await runCommand('compact', [], environment)).toMatchObject({ code: 0 });
    await using app = await startApp(environment);
    expect(await titles(app)).toHaveLength(SPACES);
  });
});

test('a damaged index of messages is emptied, and searches read the texts', async () => {
  let space: Space;
  {
    await using app = await startApp(environment);
    const user = { client: app.client(token) };
    space = await createSpace(user, { title: 'Orchard' });
    for (const text of ['Green tea', 'Coffee']) await sendMessage(user, space, text);
    await indexMessages(app.context.engine, undefined, { minMessages: 1 });
  }
  damage('message_words');
  vi.spyOn(process, 'emitWarning').mockReturnValue();
  await using app = await startApp(environment);
  const query = { space_id: space.space_id, q: 'tea' };
  const find = () => api.listMessages({ client: app.client(), query });
  expect((await find()).response?.status).toBe(503);
  await waitUntil('the message is found', async () => {
    await sleep(PAUSE_MS);
    return (await find()).data?.items.length === 1;
  });
  // The index of spaces is intact.
  expect(await titles(app)).toHaveLength(SPACES);
  await indexMessages(app.context.engine, undefined, { minMessages: 1 });
  expect((await find()).data?.items).toHaveLength(1);
  await assertIndexed(dataDir);
});

describe('damaged data', () => {
  test('makes the service not ready, sets the metric, and is named by check-database', async () => {
    damage('users');
    const warn = vi.spyOn(process, 'emitWarning').mockReturnValue();
    await using app = await startApp({ ...environment, METRICS_TOKEN: 'secret' });
    const { response } = await api.register({
      client: app.client(),
      body: { username: 'eve', email: 'eve@example.com', password: 'correct horse battery' },
    });
    expect(response?.status).toBe(503);
    await waitUntil('the damage is logged', () => warn.mock.calls.flat().join().includes('users'));
    const ready = await app.fetch('/readyz');
    expect(ready.status).toBe(503);
    expect(await ready.text()).toContain('The database is damaged. Run check-database.');
    const metrics = await app.fetch('/metrics', { headers: { authorization: 'Bearer secret' } });
    expect(await metrics.text()).toMatch(
      /space_service_resource_unavailable{resource="database".*} 1/,
    );
    const checked = await runCommand('check-database', [], environment);
    expect(checked).toMatchObject({ code: 1 });
    expect(checked.stdout).toContain('users: ');
    expect(checked.stdout).toContain('restore the last good backup');
  });

  test('is named by check-database if it is the schema, and ends the readiness of a server that has read it', async () => {
    await using app = await startApp(environment);
    damageSchema(databaseFile(dataDir));
    expect((await app.fetch('/readyz')).status).toBe(200);
    const checked = await runCommand('check-database', [], environment);
    expect(checked).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^sqlite_schema: .*\n.*restore the last good backup/),
    });
    await waitUntil('the service is not ready', async () => {
      return (await app.fetch('/readyz')).status === 503;
    });
  });

  test('is repaired by compact if it is only the list of free pages', async () => {
    const file = databaseFile(dataDir);
    withDatabase(file, (sqlite) =>
      sqlite.exec('CREATE TABLE filler AS SELECT randomblob(100000); DROP TABLE filler'),
    );
    damageFreePages(file);
    const checked = await runCommand('check-database', [], environment);
    expect(checked).toMatchObject({ code: 1, stdout: expect.stringContaining('Run compact') });
    expect(await runCommand('compact', [], environment)).toMatchObject({ code: 0 });
    await using app = await startApp(environment);
    expect((await app.fetch('/readyz')).status).toBe(200);
    const { response } = await api.createSpace({
      client: app.client(token),
      body: spaceCreation({ title: 'Coffee' }),
    });
    expect(response?.status).toBe(201);
  });
});
