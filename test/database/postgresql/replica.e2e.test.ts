import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import pg from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../../generated/sdk.gen.ts';
import type { Database, Engine, ReplicaReads } from '../../../server/database/engine.ts';
import { openDatabase } from '../../../server/database/open.ts';
import { connect } from '../../../server/database/postgresql/dialect.ts';
import { openPool } from '../../../server/database/postgresql/pool.ts';
import { OperatorError } from '../../../server/errors.ts';
import { type Dictionary, readDictionary } from '../../../server/search/dictionary/dictionary.ts';
import { searchText } from '../../../server/search/text-search.ts';
import { startApp, type TestApp } from '../../support/app.ts';
import type { TestUser } from '../../support/client.ts';
import { parseMetrics } from '../../support/metrics.ts';
import { createDatabase, execute } from '../../support/postgresql.ts';
import {
  type PostgresqlCluster,
  type Standby,
  startPostgresqlCluster,
} from '../../support/postgresql-cluster.ts';
import { createSpace } from '../../support/spaces.ts';
import { startSwitchingProxy } from '../../support/switching-proxy.ts';

const METRICS_TOKEN = 'metrics';

let cluster: PostgresqlCluster;
let standby: Standby;
let urls: { primaryUrl: string; standbyUrl: string };
let writer: TestApp;
let author: TestUser;
/** Uses the replica. */
let reader: TestApp;
/** The warnings of `reader`. */
const warnings: string[] = [];

beforeAll(async () => {
  // Faster. Nothing is lost, because tests kill processes only, and only those of the standby.
  cluster = await startPostgresqlCluster({ settings: ['fsync=off'] });
  standby = cluster.standby;
  urls = await cluster.createDatabase('replicated');
  writer = await startApp({ DATABASE_URL: urls.primaryUrl });
  author = await writer.register();
  reader = await startApp(
    { DATABASE_READ_URL: urls.standbyUrl, METRICS_TOKEN },
    {
      sharesDataOf: writer,
      log: pino({ level: 'warn' }, { write: (line) => void warnings.push(JSON.parse(line).msg) }),
    },
  );
});
afterAll(async () => {
  await reader[Symbol.asyncDispose]();
  await writer[Symbol.asyncDispose]();
  await cluster[Symbol.asyncDispose]();
});

/** Returns the titles of the spaces that the application with the replica finds. */
async function search(q: string): Promise<string[]> {
  const { data } = await api.searchSpaces({
    client: reader.client(),
    query: { q, as_typed: true },
    throwOnError: true,
  });
  return data.map(({ title }) => title);
}

/** Searches the standby without comparing its revision. */
async function searchUnchecked(
  standbyDb: Database,
  dictionary: Dictionary,
  query: string,
): Promise<unknown[]> {
  const { engine, avatars } = reader.context;
  const { items } = await searchText(
    { engine, avatars },
    dictionary,
    { query, asTyped: true },
    Number.MAX_SAFE_INTEGER,
    { limit: 20 },
    standbyDb,
  );
  return items;
}

/** Runs `work` and returns how many reads it has added for each outcome. */
async function countReads(work: () => Promise<unknown>): Promise<ReplicaReads> {
  const before = { ...readsOf(reader.context.engine) };
  await work();
  const { replica, behind, failed } = readsOf(reader.context.engine);
  return {
    replica: replica - before.replica,
    behind: behind - before.behind,
    failed: failed - before.failed,
  };
}

function readsOf(engine: Engine): Readonly<ReplicaReads> {
  const { replicaReads } = engine.activity();
  if (!replicaReads) throw new Error('The application has no replica.');
  return replicaReads;
}

let lastWord = 0;

/** Returns a word that no other search has, so that no response is cached. None is a prefix of another. */
const newWord = () => `unheard${String(++lastWord).padStart(6, '0')}`;

/** Waits until a search reads from the replica. */
async function waitForReplica(): Promise<void> {
  await expect.poll(async () => (await countReads(() => search(newWord()))).replica).toBe(1);
}

/** Returns the duration in milliseconds. */
async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

describe('Searches with a read replica', () => {
  test.each([
    ['replays immediately', '0'],
    // Longer than a busy machine needs to send the search after the creation.
    ['replays with a delay', '1s'],
  ])('see every earlier change while the replica %s', async (_, delay) => {
    await standby.set('recovery_min_apply_delay', delay);
    const standbyDb = connect(openPool(urls.standbyUrl, { maxConnections: 1 }));
    const dictionary = await readDictionary(reader.context.engine);
    let stale = 0;
    const reads = await countReads(async () => {
      for (let i = 0; i < 250; i += 1) {
        const title = newWord();
        await createSpace(author, { title });
        const [found, unchecked] = await Promise.all([
          search(title),
          searchUnchecked(standbyDb, dictionary, title),
        ]);
        expect(found).toEqual([title]);
        if (unchecked.length === 0) stale += 1;
      }
    });
    await standbyDb.destroy();
    await standby.set('recovery_min_apply_delay', '0');
    expect(reads.replica + reads.behind + reads.failed).toBe(250);
    if (delay === '0') expect(reads.replica).toBeGreaterThan(0);
    else {
      // Without the check, these searches would have missed the new space.
      expect(stale).toBeGreaterThan(200);
      expect(reads.behind).toBeGreaterThan(200);
    }
  });

  test('see changes and deletions while the replica does not replay', async () => {
    const title = newWord();
    const { space_id } = await createSpace(author, { title });
    await cluster.catchUp();
    await waitForReplica();
    await standby.pauseReplay();
    try {
      const renamed = newWord();
      await api.updateSpace({
        client: author.client,
        path: { space_id },
        body: { title: renamed },
        throwOnError: true,
      });
      const reads = await countReads(async () => {
        expect(await search(renamed)).toEqual([renamed]);
        expect(await search(title)).toEqual([]);
        await api.deleteSpace({ client: author.client, path: { space_id }, throwOnError: true });
        expect(await search(renamed)).toEqual([]);
      });
      expect(reads).toEqual({ replica: 0, behind: 3, failed: 0 });
    } finally {
      await standby.resumeReplay();
    }
    await waitForReplica();
  });

  test('return the same pages by text and by tag as without a replica', async () => {
    const title = newWord();
    for (let i = 0; i < 30; i += 1) await createSpace(author, { title, tags: [title] });
    await cluster.catchUp();
    await waitForReplica();
    const pages = async ({ client }: TestApp) => {
      const query = { limit: 20 };
      const byText = await api.searchSpaces({ client: client(), query: { ...query, q: title } });
      const byTag = await api.searchSpacesByTag({ client: client(), path: { tag: title }, query });
      return [byText.data, byTag.data];
    };
    let found: unknown;
    const reads = await countReads(async () => {
      found = await pages(reader);
    });
    expect(reads.replica).toBe(2);
    const [byText, byTag] = await pages(writer);
    const withoutOrigin = (each: unknown) =>
      JSON.stringify(each).replaceAll(/http:\/\/127.0.0.1:\d+/g, '');
    expect(byText).toHaveLength(20);
    expect(withoutOrigin(found)).toBe(withoutOrigin([byText, byTag]));
  });

  test('run on the primary if a statement conflicts with replay, and the replica stays in use', async () => {
    await standby.set('max_standby_streaming_delay', '0');
    const primary = new pg.Client(urls.primaryUrl);
    await primary.connect();
    await primary.query('CREATE TABLE removed AS SELECT generate_series(1, 1000) AS n');
    await cluster.catchUp();
    await waitForReplica();
    const { engine } = reader.context;
    const read = async (db: Database) => {
      const query = sql<{ isReplica: boolean }>`SELECT pg_is_in_recovery() AS "isReplica"`;
      const { rows } = await query.execute(db);
      const isReplica = rows[0]?.isReplica;
      // Replaying VACUUM removes rows that the snapshot of this statement can see.
      if (isReplica) {
        await Promise.all([
          sql`SELECT pg_sleep(0.9)`.execute(db),
          primary.query('DELETE FROM removed').then(() => primary.query('VACUUM removed')),
        ]);
      }
      return isReplica;
    };
    const reads = await countReads(async () => {
      // Without a conflict, the statement would end on the replica.
      expect(await engine.readOnReplica(0, read)).toBe(false);
    });
    expect(reads).toEqual({ replica: 0, behind: 0, failed: 1 });
    expect(await countReads(() => search(newWord()))).toMatchObject({ replica: 1 });
    await standby.set('max_standby_streaming_delay', '30s');
    await primary.end();
  });

  test('report errors that are not caused by the replica', async () => {
    const { engine } = reader.context;
    let runs = 0;
    const withUnknownColumn = (db: Database) => {
      runs += 1;
      return sql`SELECT missing FROM users`.execute(db);
    };
    await waitForReplica();
    await expect(engine.readOnReplica(0, withUnknownColumn)).rejects.toThrow('"missing"');
    const withOtherDatabase = () => engine.db.selectFrom('users').select('pk').execute();
    await expect(engine.readOnReplica(0, withOtherDatabase)).rejects.toThrow('use the transaction');
    expect(runs).toBe(1);
    expect(await countReads(() => search(newWord()))).toMatchObject({ replica: 1 });
  });

  test('do not fail when the replica is killed, and use it again after it restarts', async () => {
    await waitForReplica();
    let isRunning = true;
    const searchRepeatedly = async () => {
      while (isRunning) await search(newWord());
    };
    warnings.length = 0;
    const reads = await countReads(async () => {
      const clients = Array.from({ length: 8 }, searchRepeatedly);
      await sleep(300);
      await standby.kill();
      await sleep(1_500);
      isRunning = false;
      await Promise.all(clients);
    });
    expect(reads.replica).toBeGreaterThan(0);
    expect(reads.failed).toBeGreaterThan(0);
    expect(warnings).toEqual([
      'searches read from DATABASE_URL until DATABASE_READ_URL can be used',
    ]);
    await standby.start();
    await waitForReplica();
  });

  test('take at most about a second longer when the replica hangs, and then no longer than without it', async () => {
    await waitForReplica();
    const timeSearches = (count: number) =>
      Promise.all(Array.from({ length: count }, () => timeOf(() => search(newWord()))));
    // 10 of them use the connections. The other 60 wait, which are more than may wait for the primary.
    const many = 70;
    const usual = Math.max(...(await timeSearches(many)));
    await standby.suspend();
    try {
      expect(Math.max(...(await timeSearches(many)))).toBeLessThan(usual + 3_000);
      // Shorter than the timeout of the replica.
      expect(Math.min(...(await timeSearches(5)))).toBeLessThan(900);
    } finally {
      await standby.resume();
    }
    await waitForReplica();
  });

  test('are counted in the metrics by outcome', async () => {
    await waitForReplica();
    const headers = { authorization: `Bearer ${METRICS_TOKEN}` };
    const figure = parseMetrics(await (await fetch(`${reader.url}/metrics`, { headers })).text());
    const reads = readsOf(reader.context.engine);
    expect(reads.replica).toBeGreaterThan(0);
    for (const outcome of ['replica', 'behind', 'failed'] as const) {
      expect(figure(`replica_reads_total{outcome="${outcome}"}`)).toBe(reads[outcome]);
    }
  });
});

describe('A service with DATABASE_READ_URL', () => {
  let dataDir: string;
  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'space-service-replica-'));
  });
  afterAll(() => rm(dataDir, { recursive: true }));

  const open = (databaseReadUrl: string, databaseUrl = urls.primaryUrl) => {
    const problems: unknown[] = [];
    const uses: true[] = [];
    const onReplicaUnusable = (cause: unknown) => void problems.push((cause as Error).message);
    const onReplicaUsable = () => void uses.push(true);
    const options = { runsMaintenance: false, onReplicaUnusable, onReplicaUsable };
    const engine = openDatabase({ dataDir, databaseUrl, databaseReadUrl }, options);
    return { problems, uses, engine };
  };

  const refusalOf = async (databaseReadUrl: string) => {
    const error = await open(databaseReadUrl).engine.then(
      () => new Error('The database was opened.'),
      (reason: Error) => reason,
    );
    expect(error).toBeInstanceOf(OperatorError);
    expect(error.message).toMatch(/^.*DATABASE_READ_URL=postgres:\/\/\*\*\*@127.0.0.1:[^\n]+\.$/);
    return error.message;
  };

  test('rejects another database of the service, on a standby and on a primary', async () => {
    const other = await cluster.createDatabase('other');
    await (await openDatabase({ dataDir, databaseUrl: other.primaryUrl })).close();
    await cluster.catchUp();
    for (const url of [other.standbyUrl, other.primaryUrl]) {
      expect(await refusalOf(url)).toMatch('belongs to another database');
    }
  });

  test('rejects a database without the migrations, and a wrong password', async () => {
    const { standbyUrl } = await cluster.createDatabase('empty');
    const wrongPassword = urls.standbyUrl.replace(':secret@', ':wrong@');
    const missing = standbyUrl.replace('/empty', '/missing');
    const messages = await Promise.all([standbyUrl, missing, wrongPassword].map(refusalOf));
    expect(messages[0]).toMatch('does not have the tables and migrations of DATABASE_URL');
    expect(messages[1]).toMatch('does not have the tables and migrations of DATABASE_URL');
    expect(messages[2]).toMatch('rejects the user name or the password');
  });

  test.each(['command', 'import'] as const)('runs a %s without the replica', async (purpose) => {
    const databaseReadUrl = urls.standbyUrl.replace(':secret@', ':wrong@');
    const location = { dataDir, databaseUrl: urls.primaryUrl, databaseReadUrl };
    await using engine = await openDatabase(location, { purpose });
    expect(await engine.isStandby()).toBe(false);
  });

  test('waits while the replica replays the migrations', async () => {
    const { primaryUrl, standbyUrl } = await cluster.createDatabase('migrated');
    await standby.pauseReplay();
    const { engine, problems } = open(standbyUrl, primaryUrl);
    const firstToEnd = await Promise.race([engine, sleep(1_500, 'still waiting')]);
    await standby.resumeReplay();
    await using opened = await engine;
    expect(firstToEnd).toBe('still waiting');
    expect(await opened.readOnReplica(0, isStandby)).toBe(true);
    expect(problems).toEqual([]);
  });

  test('continues without a replica that cannot be reached, and uses it later', async () => {
    await standby.stop();
    const { engine, problems } = open(urls.standbyUrl);
    await using opened = await engine;
    expect(await opened.readOnReplica(0, isStandby)).toBe(false);
    expect(problems).toHaveLength(1);
    await standby.start();
    await expect.poll(() => opened.readOnReplica(0, isStandby)).toBe(true);
    expect(problems).toHaveLength(1);
  });

  test('continues without a replica whose history differs from that of the primary', async () => {
    // A copy of the database stands for a primary that has lost the latest changes in a failover.
    const original = await cluster.createDatabase('original');
    await (await openDatabase({ dataDir, databaseUrl: original.primaryUrl })).close();
    const copyUrl = await createDatabase(original.primaryUrl, 'copy', 'original');
    const advance = 'UPDATE search_revision SET value = value + 1';
    await execute(original.primaryUrl, advance);
    await cluster.catchUp();
    for (const revisions of ['ahead', 'equal']) {
      if (revisions === 'equal') await execute(copyUrl, advance);
      const { engine, problems } = open(original.standbyUrl, copyUrl);
      await using opened = await engine;
      expect(await opened.readOnReplica(0, isStandby)).toBe(false);
      expect(problems).toEqual([expect.stringContaining('has changes that DATABASE_URL lacks')]);
    }
  });

  test('can be closed twice, as without a replica', async () => {
    const engine = await open(urls.standbyUrl).engine;
    await engine.close();
    await expect(engine.close()).resolves.toBeUndefined();
  });

  test('reports once that the replica fails, and once that it is used again', async () => {
    await using proxy = await startSwitchingProxy();
    proxy.switchTo(standby.port);
    const { engine, problems, uses } = open(proxy.urlOf(urls.standbyUrl));
    await using opened = await engine;
    proxy.switchTo(null);
    await expect.poll(() => problems.length).toBeGreaterThan(0);
    // Two more checks fail meanwhile.
    await sleep(2_500);
    expect(problems).toHaveLength(1);
    expect(uses).toHaveLength(0);
    proxy.switchTo(standby.port);
    await expect.poll(() => uses.length).toBe(1);
    expect(await opened.readOnReplica(0, isStandby)).toBe(true);
    expect(problems).toHaveLength(1);
  });

  test('reports no problem of the replica while only the primary fails', async () => {
    await using proxy = await startSwitchingProxy();
    proxy.switchTo(cluster.primary.port);
    const { engine, problems, uses } = open(urls.standbyUrl, proxy.urlOf(urls.primaryUrl));
    await using opened = await engine;
    const readStandby = () => opened.readOnReplica(0, isStandby);
    expect(await readStandby()).toBe(true);
    proxy.switchTo(null);
    // The check of the replica fails, because it reads from both servers.
    const countFailures = async () => {
      await opened.readOnReplica(0, async () => {});
      return readsOf(opened).failed;
    };
    await expect.poll(countFailures).toBeGreaterThan(0);
    await sleep(2_500);
    expect(problems).toEqual([]);
    proxy.switchTo(cluster.primary.port);
    await expect.poll(readStandby).toBe(true);
    expect(problems).toEqual([]);
    expect(uses).toEqual([]);
  });

  test('continues without a server that is not a standby', async () => {
    const { engine, problems } = open(urls.primaryUrl);
    await using opened = await engine;
    expect(problems).toEqual(['The server of DATABASE_READ_URL is not a standby.']);
    await opened.readOnReplica(0, isStandby);
    expect(readsOf(opened)).toEqual({ replica: 0, behind: 0, failed: 1 });
  });
});

test('Searches run on the primary after the replica is promoted', async () => {
  await waitForReplica();
  const title = newWord();
  await createSpace(author, { title });
  await cluster.catchUp();
  await standby.promote();
  // The promoted standby has a greater revision, but lacks later changes of the primary.
  await execute(urls.standbyUrl, 'UPDATE search_revision SET value = value + 1000');
  const later = newWord();
  await createSpace(author, { title: later });
  const reads = await countReads(async () => {
    expect(await search(title)).toEqual([title]);
    expect(await search(later)).toEqual([later]);
  });
  expect(reads).toEqual({ replica: 0, behind: 0, failed: 2 });
});

async function isStandby(db: Database): Promise<boolean | undefined> {
  const { rows } = await sql<{ found: boolean }>`SELECT pg_is_in_recovery() AS found`.execute(db);
  return rows[0]?.found;
}
