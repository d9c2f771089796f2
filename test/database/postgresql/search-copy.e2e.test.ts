import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { sql } from 'kysely';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import * as api from '../../../generated/sdk.gen.ts';
import type { CountedTag } from '../../../generated/types.gen.ts';
import { restoreAccount, suspendAccount } from '../../../server/account-lifecycle/suspension.ts';
import type { Database } from '../../../server/database/engine.ts';
import { prepareCopy } from '../../../server/database/postgresql/search-copy/copy-file.ts';
import { pruneLog, readLogState } from '../../../server/database/postgresql/search-copy/log.ts';
import { SearchCopy } from '../../../server/database/postgresql/search-copy/search-copy.ts';
import { isDamage } from '../../../server/database/sqlite/errors.ts';
import { searchIndexFolder } from '../../../server/database/sqlite/location.ts';
import { transact } from '../../../server/database/transaction.ts';
import { indexer } from '../../../server/search/document-rows.ts';
import { writerOf } from '../../../server/search/writer-of.ts';
import { startApp, type TestApp } from '../../support/app.ts';
import { assertConsistent } from '../../support/consistency.ts';
import { damageTable } from '../../support/damage.ts';
import { nextPage, readPages } from '../../support/pages.ts';
import {
  execute,
  type PostgresqlServer,
  query,
  startPostgresql,
} from '../../support/postgresql.ts';
import { createSpace, joinSpace, leaveSpace } from '../../support/spaces.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { checkCrowds } from '../../trials/torture/search-copy/crowds.ts';
import { checkSearches, insertSpaces } from '../../trials/torture/search-copy/searches.ts';
import { checkWalks } from '../../trials/torture/search-copy/walks.ts';

let server: PostgresqlServer;
let url: string;
const warnings: string[] = [];
const log = pino({ level: 'warn' }, { write: (line) => void warnings.push(line) });
/** Two machines with the same database. */
let machines: [TestApp, TestApp];

beforeAll(async () => {
  server = await startPostgresql();
  url = await server.createDatabase('copies');
  machines = [
    await startApp({ DATABASE_URL: url }, { log }),
    await startApp({ DATABASE_URL: url }, { log }),
  ];
});
afterAll(async () => {
  for (const machine of machines) await machine[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

async function findTitles(app: TestApp, q: string): Promise<string[]> {
  const { data } = await api.searchSpaces({
    client: app.client(),
    query: { q, as_typed: true, limit: 100 },
    throwOnError: true,
  });
  return data.map(({ title }) => title);
}

// First, because other deletions postpone the next one by ten times as long as they took.
test('The bytes of a deleted account leave the copies of all machines, also of one without traffic', async () => {
  const [first, second] = machines;
  const user = await first.register('vexillarius');
  await createSpace(user, { title: 'Zqjwvk', description: 'Xylophagous', tags: ['kjqzw'] });
  const texts = ['vexillarius', 'zqjwvk', 'xylophagous', 'kjqzw'];
  for (const app of machines) expect(await findTitles(app, 'zqjwvk')).toEqual(['Zqjwvk']);
  // In another process, because closing a file releases the locks of SQLite in the same process.
  const textsIn = (app: TestApp) => {
    const folder = searchIndexFolder(app.context.config);
    const files = readdirSync(folder).map((name) => join(folder, name));
    const bytes = execFileSync('cat', files, {
      encoding: 'latin1',
      maxBuffer: 2 ** 28,
    }).toLowerCase();
    return texts.filter((text) => bytes.includes(text));
  };
  expect(textsIn(second).length).toBeGreaterThan(2);
  await api.deleteAccount({ client: user.client, throwOnError: true });
  for (const app of machines) {
    await waitUntil('no bytes are left', () => textsIn(app).length === 0, 60_000);
  }
}, 120_000);

test('A search on any machine shows every change that was acknowledged before it, and none that was rolled back', async () => {
  const [first, second] = machines;
  const user = await first.register('walker');
  const { unavailable } = await checkSearches(
    user,
    [first.context.engine, second.context.engine],
    () => [first.fetch, second.fetch],
    ({ searches, changes, discarded }) => searches >= 50 && changes >= 50 && discarded >= 10,
  );
  expect(unavailable).toBe(0);
  for (const { context } of machines) await assertConsistent(context.engine);
});

test('A tag that was deleted and created again between two searches is counted once', async () => {
  const [first] = machines;
  const user = await first.register('tagger');
  const create = () => createSpace(user, { title: 'Tagged', tags: ['recreated'] });
  const { space_id } = await create();
  expect(await findTitles(first, 'tagged')).toEqual(['Tagged']);
  await api.deleteSpace({ client: user.client, path: { space_id }, throwOnError: true });
  await create();
  expect(await findTitles(first, 'tagged')).toEqual(['Tagged']);
  await assertConsistent(first.context.engine);
});

test('Pages from different machines neither repeat nor miss a space while others are edited, moved, deleted and restored', async () => {
  const [first, second] = machines;
  const users = [
    await first.register('cartographer'),
    await first.register('traveller'),
    await first.register('exile'),
  ] as const;
  const { engine } = first.context;
  await checkWalks(users, engine, [first.fetch, second.fetch], 10, 2);
});

test('With 1,000 open transactions, a cursor fits into a URL, and later pages omit what they have changed', async () => {
  await using busy = await startPostgresql({ settings: ['max_prepared_transactions=1000'] });
  const databaseUrl = await busy.createDatabase('busy');
  await using app = await startApp({ DATABASE_URL: databaseUrl }, { log, runsMaintenance: false });
  const user = await app.register('patient');
  const ids: string[] = [];
  for (let i = 0; i < 6; i += 1) {
    ids.push((await createSpace(user, { title: `Throng ${i}` })).space_id);
  }
  await execute(databaseUrl, 'CREATE TABLE ids_between ()');
  // A prepared transaction is open without a connection. Savepoints use the ids between them.
  const prepare = (i: number, changedSpace?: string) => `BEGIN;
    DO $$ BEGIN
      FOR i IN 1..100 LOOP
        BEGIN INSERT INTO ids_between DEFAULT VALUES; EXCEPTION WHEN unique_violation THEN END;
      END LOOP;
    END $$;
    INSERT INTO search_changes (space_pk, omit)
      SELECT pk, true FROM spaces WHERE space_id = '${changedSpace}';
    PREPARE TRANSACTION 'open ${i}';`;
  const [first, last] = [ids[3], ids[0]];
  const between = Array.from({ length: 998 }, (_, i) => prepare(i + 1));
  await execute(databaseUrl, [prepare(0, first), ...between, prepare(999, last)].join('\n'));
  const readPage = async (path: string) => {
    const response = await app.fetch(path);
    expect(response.status).toBe(200);
    const found = (await response.json()) as { title: string }[];
    return { titles: found.map(({ title }) => title), next: nextPage(response) };
  };
  const page = await readPage('/api/spaces/search?q=throng&limit=2');
  expect(page.titles).toEqual(['Throng 5', 'Throng 4']);
  for (const i of [0, 999]) await execute(databaseUrl, `COMMIT PREPARED 'open ${i}'`);
  const rest = await readPage((page.next as string).replace('limit=2', 'limit=100'));
  expect(rest.titles).toEqual(['Throng 2', 'Throng 1']);
});

test('Joining and leaving a private space is not a change of the index', async () => {
  const [first] = machines;
  const [host, guest] = [await first.register('host'), await first.register('private-guest')];
  const space = await createSpace(host, { visibility: 'private' });
  const count = async () => (await query(url, 'SELECT max(id) AS id FROM search_changes'))[0];
  const before = await count();
  await joinSpace(guest, space);
  await leaveSpace(guest, space);
  await joinSpace(guest, space);
  await api.deleteAccount({ client: guest.client, throwOnError: true });
  const changes = await query(
    url,
    `SELECT FROM search_changes WHERE id > ${before?.id} AND space_pk IS NOT NULL`,
  );
  expect(changes).toEqual([]);
});

test('Thousands of spaces from one transaction are found in steps, and disappear at once', async () => {
  const [first, second] = machines;
  const user = await first.register('importer');
  const before = (await findTitles(first, 'walk')).length;
  const { engine } = second.context;
  await transact(engine, async (trx) => {
    const { pk: creator_pk } = await trx
      .selectFrom('users')
      .select('pk')
      .where('user_id', '=', user.userId)
      .executeTakeFirstOrThrow();
    const rows = Array.from({ length: 2_000 }, (_, i) => ({
      space_id: `many-${i}`,
      creator_pk,
      title: `Myriad ${i}`,
      description: '',
      visibility: 'public' as const,
      posting: 'participants' as const,
      invitation_code: null,
      participant_count: 0,
      created_at: new Date().toISOString(),
    }));
    const added = await trx.insertInto('spaces').values(rows).returning('pk').execute();
    await writerOf(engine).indexSpaces(
      trx,
      added.map(({ pk }) => pk),
    );
  });
  // A search does not wait for them, and shows smaller changes at once.
  await createSpace(await second.register('walker-b'), { title: 'Walk alone' });
  expect(await findTitles(first, 'walk')).toHaveLength(before + 1);
  const count = async () =>
    (await readPages(first, '/api/spaces/search?q=myriad&limit=100')).flat().length;
  const pending = await first.context.engine.searchIndex.countPending();
  expect(await count()).toBeGreaterThanOrEqual(2_000 - pending);
  await waitUntil('all are found', async () => (await count()) === 2_000, 20_000);
  await api.deleteAccount({ client: user.client, throwOnError: true });
  expect(await findTitles(second, 'myriad')).toEqual([]);
  expect(await findTitles(first, 'myriad')).toEqual([]);
});

test('Thousands of spaces of a suspended account disappear at once, are removed in steps, and return', async () => {
  const databaseUrl = await server.createDatabase('suspended');
  await using app = await startApp({ DATABASE_URL: databaseUrl }, { log, runsMaintenance: false });
  const [user, other] = [await app.register('exiled'), await app.register('resident')];
  const { engine } = app.context;
  const copy = engine.searchIndex as SearchCopy;
  const titles = Array.from({ length: 1_000 }, (_, i) => `Diaspora ${i}`);
  const [otherPk] = await insertSpaces(engine, other, ['Diaspora of another']);
  await insertSpaces(engine, user, titles);
  await execute(databaseUrl, "INSERT INTO tags (tag_key) VALUES ('shared'), ('single')");
  await execute(
    databaseUrl,
    `INSERT INTO space_tags (space_pk, tag_id, position, tag_name)
      SELECT pk, tag_id, tag_id, CASE pk WHEN ${otherPk} THEN tag_key ELSE upper(tag_key) END
      FROM spaces, tags WHERE pk = ${otherPk} OR tag_key = 'shared'`,
  );
  await copy.update();
  while (await copy.addPending());
  const readSearch = () => readPages(app, '/api/spaces/search?q=diaspora&limit=100');
  const find = async () => (await readSearch()).flat();
  const findTags = async () =>
    (await readPages<CountedTag>(app, '/api/tags?limit=1'))
      .flat()
      .map(({ tag_name, space_count }) => `${tag_name} ${space_count}`);
  const countHidden = async () => {
    const hidden = sql<{ count: number }>`SELECT count(*) AS count FROM erased_spaces`;
    return (await hidden.execute(copy.db)).rows[0]?.count;
  };
  expect(await find()).toHaveLength(1_001);
  expect(await findTags()).toEqual(['SHARED 1001', 'single 1']);

  await suspendAccount(engine, user.userId);
  // The page does not end early, although most results before the remaining one are hidden.
  expect(await readSearch()).toEqual([[expect.objectContaining({ title: 'Diaspora of another' })]]);
  // Equal counts: the newest tag first. The name is that of the remaining space.
  expect(await findTags()).toEqual(['single 1', 'shared 1']);
  expect(await countHidden()).toBe(800);
  await copy.removeHidden();
  expect(await findTags()).toEqual(['single 1', 'shared 1']);

  await restoreAccount(engine, user.userId);
  expect(await find()).toHaveLength(601);
  expect(await findTags()).toEqual(['SHARED 601', 'single 1']);
  while (await copy.removeHidden());
  expect(await find()).toHaveLength(601);
  while (await copy.addPending());
  expect(await find()).toHaveLength(1_001);
  await assertConsistent(engine);

  await suspendAccount(engine, user.userId);
  expect(await find()).toHaveLength(1);
  const successor = new SearchCopy(searchIndexFolder(app.context.config), engine.db, indexer);
  await successor.prepare(expect.fail, () => {});
  await successor.close();
  expect(await countHidden()).toBe(0);
  await assertConsistent(engine);
});

test('Lists stay exact while accounts with many spaces are suspended, restored and deleted', async () => {
  const [first, second] = machines;
  const servers = [first.fetch, second.fetch];
  await checkCrowds(
    first.context.engine,
    () => servers,
    700,
    ({ changes, reads }) => changes >= 6 && reads >= 20,
  );
});

test('The question before each search reads no earlier changes, however many the log keeps', async () => {
  const { engine } = machines[0].context;
  await engine.db.transaction().execute(async (trx) => {
    await sql`INSERT INTO search_changes (xid, space_pk) SELECT '1', 0 FROM generate_series(1, 20000)`.execute(
      trx,
    );
    // A prepared statement gets such a plan after a few executions.
    await sql`SET LOCAL plan_cache_mode = force_generic_plan`.execute(trx);
    // Includes rows of earlier transactions that the connection has not reported yet.
    const countRowsRead = async () => {
      const { rows } = await sql<{ read: number }>`
        SELECT coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) AS read
        FROM pg_stat_xact_user_tables WHERE relname = 'search_changes'`.execute(trx);
      return rows[0]?.read ?? 0;
    };
    const before = await countRowsRead();
    const { hasChanges } = await readLogState(trx, { min: 2, end: 2 ** 50, open: [2, 3, 4] });
    expect(hasChanges).toBe(false);
    expect((await countRowsRead()) - before).toBeLessThan(100);
    await sql`DELETE FROM search_changes WHERE xid = '1'`.execute(trx);
  });
});

test('A large transaction removes spaces that another process adds to the copy at the same time', async () => {
  // No other transactions, so that snapshots are equal.
  await using quiet = await startPostgresql({ settings: ['autovacuum=off'] });
  const databaseUrl = await quiet.createDatabase('overtaken');
  await using app = await startApp({ DATABASE_URL: databaseUrl }, { log, runsMaintenance: false });
  await app.register('overtaker');
  await execute(
    databaseUrl,
    `WITH added AS (
      INSERT INTO spaces (space_id, creator_pk, title, description, visibility, participant_count, created_at)
      SELECT 'legion-' || i, users.pk, 'Legion ' || i, '', 'public', 0, ''
      FROM users, generate_series(1, 600) AS i RETURNING pk
    ) INSERT INTO search_changes (space_pk, omit) SELECT pk, true FROM added`,
  );
  expect(await findTitles(app, 'legion')).toEqual([]);
  const adding = app.context.engine.searchIndex as SearchCopy;
  // Only enqueues the spaces.
  for (let step = 0; step < 2; step += 1) await adding.addPending();
  const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const source = delayTransactions(app.context.engine.db, async () => {
    reached.resolve();
    await released.promise;
  });
  const removing = new SearchCopy(searchIndexFolder(app.context.config), source, indexer);
  const step = removing.addPending(1);
  await reached.promise;
  while (await adding.addPending());
  expect(await findTitles(app, 'legion')).toHaveLength(100);
  await execute(
    databaseUrl,
    `WITH hidden AS (
      UPDATE spaces SET visibility = 'private', invitation_code = 'code' WHERE title LIKE 'Legion %' RETURNING pk
    ) INSERT INTO search_changes (space_pk, omit) SELECT pk, true FROM hidden`,
  );
  released.resolve();
  await step;
  await removing.close();
  expect(await findTitles(app, 'legion')).toEqual([]);
});

test('A large transaction is applied once if two processes read it at the same time', async () => {
  const databaseUrl = await server.createDatabase('twice');
  await using app = await startApp({ DATABASE_URL: databaseUrl }, { log, runsMaintenance: false });
  const user = await app.register('reader');
  await execute(
    databaseUrl,
    `WITH added AS (
      INSERT INTO spaces (space_id, creator_pk, title, description, visibility, participant_count, created_at)
      SELECT 'horde-' || i, users.pk, 'Horde ' || i, '', 'public', 0, ''
      FROM users, generate_series(1, 600) AS i RETURNING pk
    ) INSERT INTO search_changes (space_pk, omit) SELECT pk, true FROM added`,
  );
  const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const source = delayTransactions(app.context.engine.db, async () => {
    reached.resolve();
    await released.promise;
  });
  const late = new SearchCopy(searchIndexFolder(app.context.config), source, indexer);
  const update = late.update();
  await reached.promise;
  expect(await findTitles(app, 'horde')).toEqual([]);
  // So that the snapshot of the late process is a later one.
  await createSpace(user, { title: 'Horde leader' });
  released.resolve();
  await update;
  await late.close();
  expect(await findTitles(app, 'horde')).toEqual(['Horde leader']);
  const copy = app.context.engine.searchIndex as SearchCopy;
  while (await copy.addPending());
  expect((await readPages(app, '/api/spaces/search?q=horde&limit=100')).flat()).toHaveLength(601);
});

/** Calls a function before each read-only transaction. */
function delayTransactions(db: Database, delay: () => Promise<void>): Database {
  const transaction: Database['transaction'] = () => {
    const builder = db
      .transaction()
      .setIsolationLevel('repeatable read')
      .setAccessMode('read only');
    const delayed = {
      setIsolationLevel: () => delayed,
      setAccessMode: () => delayed,
      execute: async (work: Parameters<typeof builder.execute>[0]) => {
        await delay();
        return builder.execute(work);
      },
    };
    return delayed as unknown as typeof builder;
  };
  return new Proxy(db, {
    get(target, name) {
      if (name === 'transaction') return transaction;
      const value = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

describe('A copy', () => {
  const folder = (app: TestApp) => searchIndexFolder(app.context.config);
  const fileOf = (app: TestApp) => {
    const [name] = readdirSync(folder(app)).filter((each) => each.endsWith('.sqlite'));
    return join(folder(app), name as string);
  };
  const damages: Record<string, (file: string) => void> = {
    deleted: (file) => unlinkSync(file),
    truncated: (file) => truncateSync(file, 8192),
    overwritten: (file) => {
      const bytes = readFileSync(file);
      for (let at = 4096; at < bytes.length; at += 512) bytes.write('damage', at);
      writeFileSync(file, bytes);
    },
  };
  test.for(Object.keys(damages))(
    'that is %s while the server runs is built again',
    async (damage) => {
      await using app = await startApp({ DATABASE_URL: url }, { log });
      const user = await app.register(`mender-${damage}`);
      const title = `Mended ${damage}`;
      await createSpace(user, { title });
      expect(await findTitles(app, damage)).toEqual([title]);
      await sql`PRAGMA wal_checkpoint(TRUNCATE)`.execute(app.context.engine.searchIndex.db);
      warnings.length = 0;
      damages[damage]?.(fileOf(app));
      const statuses = new Set<number>();
      await waitUntil('searches return the same again', async () => {
        // Not cached, so that the file is read.
        const response = await app.fetch(
          `/api/spaces/search?q=${damage}&limit=${1 + statuses.size}`,
        );
        statuses.add(response.status);
        const titles = response.ok ? ((await response.json()) as { title: string }[]) : [];
        const isReady = (await app.fetch('/readyz')).status === 200;
        return isReady && titles[0]?.title === title && !(await isDamaged(app));
      });
      expect([...statuses].filter((status) => status !== 200 && status !== 503)).toEqual([]);
      await createSpace(user, { title: `Also ${damage}` });
      expect((await findTitles(app, damage)).sort()).toEqual([`Also ${damage}`, title]);
      await assertConsistent(app.context.engine);
    },
  );

  async function isDamaged(app: TestApp): Promise<boolean> {
    const check = sql<{ quick_check: string }>`PRAGMA quick_check(1)`;
    try {
      const { rows } = await check.execute(app.context.engine.searchIndex.db);
      return rows[0]?.quick_check !== 'ok';
    } catch (error) {
      // Also if the file has just been deleted.
      if (isDamage(error) || app.context.engine.isUnavailable(error)) return true;
      throw error;
    }
  }

  test('is repaired after a crash of PostgreSQL, and searches return 503 until then', async () => {
    const [first] = machines;
    const user = await first.register('survivor');
    await createSpace(user, { title: 'Before the crash' });
    expect(await findTitles(first, 'crash')).toEqual(['Before the crash']);
    await server.kill();
    await server.start();
    await expect
      .poll(
        async () =>
          (
            await api.createSpace({
              client: user.client,
              body: { title: 'After the crash', description: '', visibility: 'public', tags: [] },
            })
          ).response?.status,
        { timeout: 10_000 },
      )
      .toBe(201);
    for (const app of machines) {
      await waitUntil('searches succeed', async () => {
        const response = await app.fetch('/api/spaces/search?q=crash');
        if (response.ok) return true;
        expect(response.status).toBe(503);
        return false;
      });
      expect((await findTitles(app, 'crash')).sort()).toEqual([
        'After the crash',
        'Before the crash',
      ]);
    }
    const [row] = await query(url, 'SELECT count(*)::int AS count FROM search_epoch');
    expect(row).toEqual({ count: 1 });
    for (const { context } of machines) await assertConsistent(context.engine);
  });

  test('shows the spaces of an account again whose suspension ended before a repair', async () => {
    const databaseUrl = await server.createDatabase('pardoned');
    await using app = await startApp(
      { DATABASE_URL: databaseUrl },
      { log, runsMaintenance: false },
    );
    const { engine } = app.context;
    const copy = engine.searchIndex as SearchCopy;
    const [exiled, pardoned] = [await app.register('deported'), await app.register('pardoned')];
    // More than are removed at once, so that the space of the other account is still in the copy.
    await insertSpaces(engine, exiled, Array<string>(450).fill('Exile'));
    await createSpace(pardoned, { title: 'Return from exile' });
    expect(await findTitles(app, 'return')).toHaveLength(1);
    for (const { userId } of [exiled, pardoned]) await suspendAccount(engine, userId);
    expect(await findTitles(app, 'return')).toEqual([]);
    await restoreAccount(engine, pardoned.userId);
    // As after a restart.
    await execute(databaseUrl, 'UPDATE search_epoch SET token = gen_random_uuid()');
    await copy.maintain(() => {});
    while (await copy.removeHidden());
    while (await copy.addPending());
    expect(await findTitles(app, 'return')).toEqual(['Return from exile']);
    await assertConsistent(engine);
  });

  test('is repaired while the server is ready for everything except searches', async () => {
    const databaseUrl = await server.createDatabase('repaired');
    await using app = await startApp(
      { DATABASE_URL: databaseUrl },
      { log, runsMaintenance: false },
    );
    const space = await createSpace(await app.register('patient'), { title: 'Repaired' });
    expect(await findTitles(app, 'repaired')).toEqual(['Repaired']);
    // As after a restart.
    await execute(databaseUrl, 'UPDATE search_epoch SET token = gen_random_uuid()');
    const statuses = async () =>
      Promise.all(
        ['/api/spaces/search?q=repaired', `/api/spaces/${space.space_id}`, '/readyz'].map(
          async (path) => (await app.fetch(path)).status,
        ),
      );
    expect(await statuses()).toEqual([503, 200, 200]);
    const copy = app.context.engine.searchIndex as SearchCopy;
    await sql`DELETE FROM public_spaces`.execute(copy.db);
    await copy.maintain(() => {});
    // Compared, but a space is still to be added.
    expect(await statuses()).toEqual([503, 200, 200]);
    while (await copy.addPending());
    expect(await statuses()).toEqual([200, 200, 200]);
    unlinkSync(fileOf(app));
    expect(await statuses()).toEqual([503, 200, 503]);
    await copy.maintain(() => {});
    expect(await statuses()).toEqual([503, 200, 503]);
    while (await copy.addPending());
    expect(await statuses()).toEqual([200, 200, 200]);
  });

  test('that was damaged while the server was stopped is built again, although no search reads the damaged part', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'space-service-decayed-'));
    const settings = { DATABASE_URL: await server.createDatabase('decayed'), DATA_DIR: dataDir };
    let file: string;
    {
      await using app = await startApp(settings, { log });
      await createSpace(await app.register('archaeologist'), { title: 'Decayed', tags: ['old'] });
      expect(await findTitles(app, 'decayed')).toEqual(['Decayed']);
      file = fileOf(app);
    }
    damageTable(file, 'tag_prefixes');
    await using app = await startApp(settings, { log });
    await waitUntil('another copy is complete', async () => {
      const isReady = (await app.fetch('/readyz')).status === 200;
      // There is none while it is replaced.
      const [name] = readdirSync(folder(app)).filter((each) => each.endsWith('.sqlite'));
      return isReady && name !== undefined && name !== basename(file);
    });
    expect(await findTitles(app, 'decayed')).toEqual(['Decayed']);
    await assertConsistent(app.context.engine);
    await rm(dataDir, { recursive: true });
  });

  test('is repaired if PostgreSQL uses transaction ids again after a crash that lost transactions', async () => {
    await using unsafe = await startPostgresql({ settings: ['wal_writer_delay=10s'] });
    const databaseUrl = await unsafe.createDatabase('unsafe');
    await using app = await startApp(
      { DATABASE_URL: databaseUrl },
      { runsMaintenance: false, log },
    );
    const { engine } = app.context;
    const user = await app.register('redone');
    const kept = await createSpace(user, { title: 'Kept tide' });
    const rename = (title: string, isDurable: boolean) =>
      transact(engine, async (trx) => {
        if (!isDurable) await sql`SET LOCAL synchronous_commit = off`.execute(trx);
        const { pk } = await trx
          .updateTable('spaces')
          .set({ title })
          .where('space_id', '=', kept.space_id)
          .returning('pk')
          .executeTakeFirstOrThrow();
        await writerOf(engine).indexSpaces(trx, [pk]);
      });
    for (let i = 0; i < 20; i += 1) await rename(`Lost tide ${i}`, false);
    expect(await findTitles(app, 'tide')).toEqual(['Lost tide 19']);
    const [backend] = await query(
      databaseUrl,
      "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() LIMIT 1",
    );
    process.kill((backend as { pid: number }).pid, 'SIGKILL');
    // The other connections are closed, too.
    await expect
      .poll(
        () =>
          rename('Tide again', true).then(
            () => true,
            () => false,
          ),
        { timeout: 20_000 },
      )
      .toBe(true);
    const copy = engine.searchIndex as SearchCopy;
    await copy.prepare(
      () => {},
      () => {},
    );
    expect(await findTitles(app, 'tide')).toEqual(['Tide again']);
    await assertConsistent(engine);
  });

  test('is repaired after a restore of a dump, which contains transaction ids of another server', async () => {
    const databaseUrl = await server.createDatabase('restored');
    {
      await using app = await startApp({ DATABASE_URL: databaseUrl }, { log });
      const user = await app.register('archivist');
      for (let i = 0; i < 3; i += 1) await createSpace(user, { title: `Dumped ${i}` });
    }
    // As pg_restore does, creates the table again, with the same rows.
    await execute(databaseUrl, 'CREATE UNLOGGED TABLE dumped AS SELECT * FROM search_epoch');
    await execute(databaseUrl, 'DROP TABLE search_epoch');
    await execute(databaseUrl, 'ALTER TABLE dumped RENAME TO search_epoch');
    await execute(databaseUrl, "UPDATE search_changes SET xid = '900000000'");
    await execute(databaseUrl, "UPDATE search_changes_bound SET xid = '800000000'");
    await using app = await startApp({ DATABASE_URL: databaseUrl }, { log });
    expect(await findTitles(app, 'dumped')).toHaveLength(3);
    const [row] = await query(databaseUrl, 'SELECT count(*)::int AS count FROM search_changes');
    expect(row).toEqual({ count: 0 });
    await createSpace(await app.register('restorer'), { title: 'Dumped later' });
    expect(await findTitles(app, 'dumped')).toHaveLength(4);
  });

  test('of one database becomes one of another, whose tags have other keys', async () => {
    const startWith = async (tags: readonly string[]) => {
      const databaseUrl = await server.createDatabase(`with ${tags}`);
      const app = await startApp({ DATABASE_URL: databaseUrl }, { log, runsMaintenance: false });
      const user = await app.register(`${tags[0]}-player`);
      for (const tag of tags) await createSpace(user, { title: `Tuned ${tag}`, tags: [tag] });
      expect(await findTitles(app, 'tuned')).toHaveLength(tags.length);
      return app;
    };
    await using other = await startWith(['lute', 'harp', 'oboe']);
    await sql`PRAGMA wal_checkpoint(TRUNCATE)`.execute(other.context.engine.searchIndex.db);
    await using app = await startWith(['oboe', 'lute', 'viol']);
    unlinkSync(fileOf(app));
    copyFileSync(fileOf(other), join(folder(app), 'other.sqlite'));
    const copy = app.context.engine.searchIndex as SearchCopy;
    await copy.maintain(() => {});
    while (await copy.addPending(1));
    expect(await findTitles(app, 'tuned')).toEqual(['Tuned viol', 'Tuned lute', 'Tuned oboe']);
    await assertConsistent(app.context.engine);
  });

  test('that is deleted gives its space back after a minute', async () => {
    const databaseUrl = await server.createDatabase('freed');
    await using app = await startApp(
      { DATABASE_URL: databaseUrl },
      { log, runsMaintenance: false },
    );
    const copy = app.context.engine.searchIndex as SearchCopy;
    const { file } = copy;
    const countOpen = () => openFiles().filter((each) => each.startsWith(file)).length;
    expect(countOpen()).toBeGreaterThan(0);
    unlinkSync(file);
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    try {
      await prepareCopy(folder(app), indexer.version, () => {});
      expect(copy.file).not.toBe(file);
      expect(countOpen()).toBeGreaterThan(0);
      await vi.advanceTimersByTimeAsync(60_000);
    } finally {
      vi.useRealTimers();
    }
    expect(countOpen()).toBe(0);
  });

  /** The paths of the open files of this process. */
  function openFiles(): string[] {
    return readdirSync('/proc/self/fd').flatMap((fd) => {
      try {
        return [readlinkSync(`/proc/self/fd/${fd}`)];
      } catch {
        // Closed meanwhile, like the listed folder itself.
        return [];
      }
    });
  }

  test('that is replaced after it was updated for a search is not read before it is built', async () => {
    const databaseUrl = await server.createDatabase('replaced');
    await using app = await startApp(
      { DATABASE_URL: databaseUrl },
      { log, runsMaintenance: false },
    );
    const { searchIndex } = app.context.engine;
    await searchIndex.update();
    unlinkSync(fileOf(app));
    await prepareCopy(folder(app), indexer.version, () => {});
    await expect(searchIndex.read(async () => 'nothing')).rejects.toThrow('is being built');
  });

  test('that a process creates without tables, by opening it after it was deleted, is built again', async () => {
    const databaseUrl = await server.createDatabase('empty');
    await using app = await startApp(
      { DATABASE_URL: databaseUrl },
      { log, runsMaintenance: false },
    );
    await createSpace(await app.register('hollow'), { title: 'Hollow' });
    const { searchIndex, db } = app.context.engine;
    const { file } = searchIndex as SearchCopy;
    unlinkSync(file);
    writeFileSync(file, '');
    const other = new SearchCopy(folder(app), db, indexer);
    await other.prepare(
      () => {},
      () => {},
    );
    await other.close();
    expect(fileOf(app)).not.toBe(file);
    expect(await findTitles(app, 'hollow')).toEqual(['Hollow']);
  });

  test('that is thousands of transactions behind is built in steps, and searches return 503 until then', async () => {
    const databaseUrl = await server.createDatabase('behind');
    await using app = await startApp(
      { DATABASE_URL: databaseUrl },
      { log, runsMaintenance: false },
    );
    const user = await app.register('latecomer');
    await createSpace(user, { title: 'Late' });
    expect(await findTitles(app, 'late')).toEqual(['Late']);
    await createSpace(user, { title: 'Later' });
    await execute(
      databaseUrl,
      `DO $$ BEGIN
        FOR i IN 1..5001 LOOP INSERT INTO search_changes (space_pk) VALUES (1000 + i); COMMIT; END LOOP;
      END $$`,
    );
    expect((await app.fetch('/api/spaces/search?q=late')).status).toBe(503);
    const copy = app.context.engine.searchIndex as SearchCopy;
    await copy.prepare(
      () => {},
      () => {},
    );
    expect(await findTitles(app, 'late')).toEqual(['Late', 'Later']);
    await assertConsistent(app.context.engine);
  });

  test('still follows the log after a quiet hour, when its changes have been deleted', async () => {
    const databaseUrl = await server.createDatabase('quiet');
    await using app = await startApp(
      { DATABASE_URL: databaseUrl },
      { runsMaintenance: false, log },
    );
    const user = await app.register('sleeper');
    await createSpace(user, { title: 'Quiet' });
    expect(await findTitles(app, 'quiet')).toEqual(['Quiet']);
    await execute(
      databaseUrl,
      "UPDATE search_changes SET recorded_at = recorded_at - interval '2 hours'",
    );
    await pruneLog(app.context.engine.db);
    const [row] = await query(databaseUrl, 'SELECT count(*)::int AS count FROM search_changes');
    expect(row).toEqual({ count: 0 });
    expect(await findTitles(app, 'quiet')).toEqual(['Quiet']);
    await createSpace(user, { title: 'Quiet no more' });
    expect(await findTitles(app, 'quiet')).toHaveLength(2);
  });

  test('on a full disk makes searches return 503, and nothing else', async () => {
    // Maintenance would update the copy through a connection that has no limit.
    await using app = await startApp({ DATABASE_URL: url }, { runsMaintenance: false, log });
    const user = await app.register('crowded');
    const space = await createSpace(user, { title: 'Roomy' });
    expect(await findTitles(app, 'roomy')).toEqual(['Roomy']);
    const { searchIndex } = app.context.engine;
    const limitPages = (pages: number) =>
      transact(searchIndex.engine, (trx) =>
        sql`PRAGMA max_page_count = ${sql.lit(pages)}`.execute(trx),
      );
    await limitPages(1);
    const statuses: (number | undefined)[] = [];
    for (let i = 0; i < 50; i += 1) {
      const body = {
        title: `Crowd ${i}`,
        description: 'word '.repeat(90) + i,
        visibility: 'public' as const,
        tags: [`tag${i}`],
      };
      statuses.push((await api.createSpace({ client: user.client, body })).response?.status);
    }
    expect(new Set(statuses)).toEqual(new Set([201]));
    expect((await app.fetch('/api/spaces/search?q=crowd')).status).toBe(503);
    expect((await app.fetch(`/api/spaces/${space.space_id}`)).status).toBe(200);
    expect((await app.fetch('/readyz')).status).toBe(200);
    await limitPages(1_000_000);
    expect(await findTitles(app, 'crowd')).toHaveLength(50);
  });
});
