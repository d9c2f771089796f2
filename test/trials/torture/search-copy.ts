import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { sql } from 'kysely';
import type { Engine } from '../../../server/database/engine.ts';
import { openDatabase } from '../../../server/database/open.ts';
import { searchIndexFolder } from '../../../server/database/sqlite/location.ts';
import { transact } from '../../../server/database/transaction.ts';
import { indexer } from '../../../server/search/document-rows.ts';
import { writerOf } from '../../../server/search/writer-of.ts';
import { register, type TestUser } from '../../support/client.ts';
import { assertConsistent } from '../../support/consistency.ts';
import { draw } from '../../support/drawing.ts';
import { query, startPostgresql } from '../../support/postgresql.ts';
import { startProcess } from '../../support/processes.ts';
import { type Server, startServer } from '../../support/server.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { checkCrowds } from './search-copy/crowds.ts';
import {
  checkSearches,
  insertSpaces,
  type SearchCounts,
  type Send,
} from './search-copy/searches.ts';
import { checkWalks } from './search-copy/walks.ts';
import { runTogether } from './together.ts';
import type { Trial } from './trial.ts';

const run = promisify(execFile);

const MACHINES = 2;

/** Spaces that a killed server must index again. */
const SPACES = 3_000;

/** The number of different words in their titles. A comparison searches for each beginning of each word. */
const WORDS = 500;

const KILLS_PER_ROUND = 4;

const MAX_READY_MS = 60_000;

const SEARCHES = 10_000;

/** Spaces of an account that is suspended, restored or deleted. */
const CROWD_SPACES = 3_000;

const LISTS = 10_000;

const QUICK_TEST = 'test/database/postgresql/search-copy.e2e.test.ts';

export const exactSearches: Trial = {
  promise: 'On PostgreSQL, a search on any machine shows everything that was acknowledged before.',
  runsOnPostgresql: true,
  quickTest: QUICK_TEST,
  async run() {
    await using service = await startService();
    const { engine, machines, users } = service;
    let isDone = false;
    const senders = () => machines.senders;
    const isEnough = ({ searches }: SearchCounts) => searches >= SEARCHES;
    const searching = checkSearches(users[0], [engine], senders, isEnough);
    const reading = checkCrowds(engine, senders, CROWD_SPACES, () => isDone);
    await runTogether([searching, reading], () => {
      isDone = true;
    });
    const [counts, crowds] = [await searching, await reading];
    assert.equal(counts.unavailable, 0);
    for (let i = 0; i < MACHINES; i += 1)
      await compareCopy(service.databaseUrl, machines.folder(i));
    return `${counts.searches} searches beside ${counts.changes} changes and ${counts.discarded} that were rolled back, and ${crowds.reads} lists beside ${crowds.changes} suspensions, restorations and deletions of accounts with ${CROWD_SPACES} spaces, 0 differences`;
  },
};

export const exactLists: Trial = {
  promise:
    'On PostgreSQL, lists whose pages are read from several machines repeat nothing, and miss nothing that does not change.',
  runsOnPostgresql: true,
  quickTest: QUICK_TEST,
  async run() {
    await using service = await startService();
    const { engine, machines, users } = service;
    const counts = await checkWalks(users, engine, machines.senders, LISTS, 12);
    return `${LISTS} lists on ${counts.pages} pages beside ${counts.changes} changes, 0 repeats, 0 misses`;
  },
};

export const searchKills: Trial = {
  promise:
    'On PostgreSQL, searches stay exact while processes of the servers and of PostgreSQL are killed, and all copies of the index are complete in the end.',
  runsOnPostgresql: true,
  async run(scale) {
    await using service = await startService();
    const titles = Array.from({ length: SPACES }, (_, i) => `Myriad ${i % WORDS}`);
    const pks = await insertSpaces(service.engine, service.users[0], titles);
    return await checkKills(service, pks, scale === 'full' ? 28 : 4);
  },
};

interface Service extends AsyncDisposable {
  databaseUrl: string;
  machines: Machines;
  users: readonly [TestUser, TestUser, TestUser];
  /** Writes to the database. */
  engine: Engine;
}

/** Starts several machines with a PostgreSQL server of their own, because some trials kill it. */
async function startService(): Promise<Service> {
  await using started = new AsyncDisposableStack();
  // Transactions with asynchronous commits are lost in a crash, and their ids used again.
  const settings = ['wal_writer_delay=10s'];
  const postgresql = started.use(await startPostgresql({ settings }));
  const databaseUrl = await postgresql.createDatabase('torture');
  const machines = started.use(new Machines(databaseUrl));
  for (let i = 0; i < MACHINES; i += 1) await machines.start(i);
  const [{ url }] = machines.servers as [Server];
  const users = [
    await register(url, 'walker'),
    await register(url, 'guest'),
    await register(url, 'suspended'),
  ] as const;
  const location = { databaseUrl, dataDir: tmpdir() };
  const engine = started.use(await openDatabase(location, { purpose: 'command' }));
  const owned = started.move();
  return {
    databaseUrl,
    machines,
    users,
    engine,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** The servers of the service, with two processes each. */
class Machines implements AsyncDisposable {
  readonly #databaseUrl: string;
  readonly #folders: string[] = [];
  servers: (Server | undefined)[] = [];

  constructor(databaseUrl: string) {
    this.#databaseUrl = databaseUrl;
  }

  folder(i: number): string {
    return this.#folders[i] as string;
  }

  settings(i: number): Record<string, string> {
    const settings = { DATABASE_URL: this.#databaseUrl, DATA_DIR: this.folder(i), WORKERS: '2' };
    return settings;
  }

  /** Starts a server, again if it exits because PostgreSQL is recovering from a crash. */
  async start(i: number): Promise<void> {
    this.#folders[i] ??= await mkdtemp(join(tmpdir(), 'space-service-search-copy-'));
    for (let attempt = 1; ; attempt += 1) {
      try {
        this.servers[i] = await startServer(this.settings(i));
        return;
      } catch (error) {
        if (attempt === 20 || !/exited/.test((error as Error).message)) throw error;
        await sleep(200);
      }
    }
  }

  async kill(i: number): Promise<void> {
    const server = this.servers[i];
    this.servers[i] = undefined;
    await server?.kill();
  }

  /** Sends requests to a server. Rejects while it does not run. */
  get senders(): Send[] {
    return this.#folders.map((_, i) => async (path) => {
      const server = this.servers[i];
      if (!server) throw new Error('The server does not run.');
      return fetch(server.url + path);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.servers) await server?.[Symbol.asyncDispose]();
    for (const folder of this.#folders) await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Kills servers and processes of PostgreSQL in turn, some of them during the start of a server or a repair, beside
 * writers and searches. After each round, compares the copies of all machines with the database.
 */
async function checkKills(
  { machines, users: [user], engine, databaseUrl }: Service,
  pks: readonly number[],
  kills: number,
): Promise<string> {
  const counts = { servers: 0, workers: 0, starts: 0, backends: 0, builds: 0, comparisons: 0 };
  let [searches, changes, slowestMs] = [0, 0, 0];
  const readiness = observeReadiness(machines);
  for (let round = 0; round * KILLS_PER_ROUND < kills; round += 1) {
    let isDone = false;
    const losing = loseChanges(engine, pks, () => isDone);
    const checking = checkSearches(
      user,
      [engine],
      () => machines.senders,
      () => isDone,
    );
    const reading = checkCrowds(
      engine,
      () => machines.senders,
      CROWD_SPACES,
      () => isDone,
    );
    const killing = (async () => {
      for (let i = 0; i < KILLS_PER_ROUND; i += 1) {
        await sleep(Math.random() * 1_500);
        const machine = i % MACHINES;
        if (i % 2 === 0) {
          await killBackend(databaseUrl);
          counts.backends += 1;
        } else if (i % 4 === 1) {
          await machines.kill(machine);
          counts.servers += 1;
          if (Math.random() < 0.7) {
            await damageCopy(machines.folder(machine));
            counts.builds += 1;
          }
          await killDuringStart(machines.settings(machine));
          counts.starts += 1;
          // The next kill of PostgreSQL happens during this start.
          const starting = machines.start(machine);
          const killingBackend = sleep(Math.random() * 1_500).then(() => killBackend(databaseUrl));
          await Promise.all([starting, killingBackend]);
          counts.backends += 1;
        } else {
          await killWorker(machines.servers[machine]);
          counts.workers += 1;
        }
      }
    })();
    await runTogether([killing, checking, losing, reading], () => {
      isDone = true;
    });
    const [checked, crowds] = [await checking, await reading];
    searches += checked.searches + crowds.reads;
    changes += checked.changes + crowds.changes;
    const from = performance.now();
    await waitUntil(
      'all machines are ready and return searches',
      async () => {
        const paths = ['/readyz', `/api/spaces/search?q=myriad&limit=${1 + (round % 100)}`];
        const responses = machines.senders.flatMap((send) => paths.map(send));
        const statuses = (await Promise.allSettled(responses)).map(
          (each) => each.status === 'fulfilled' && each.value.status,
        );
        return statuses.every((status) => status === 200);
      },
      MAX_READY_MS,
    );
    slowestMs = Math.max(slowestMs, performance.now() - from);
    for (let i = 0; i < MACHINES; i += 1) {
      await compareCopy(databaseUrl, machines.folder(i));
      counts.comparisons += 1;
    }
  }
  const { ready, unavailable, wrong } = await readiness.stop();
  assert.deepEqual(wrong, []);
  assert(unavailable > 0);
  assert(searches > 0, 'no search succeeded beside the kills');
  const all = counts.servers + counts.starts + counts.workers;
  return `${all} kills of servers (${counts.workers} of one worker, ${counts.starts} during a start, ${counts.builds} with a damaged copy) and ${counts.backends} of PostgreSQL beside ${searches} searches and ${changes} changes, 0 differences; ${counts.comparisons} copies equal the database, ready within ${Math.round(slowestMs)} ms after each round; /readyz returned 200 ${ready} times and 503 ${unavailable} times`;
}

/** Kills one process of PostgreSQL. PostgreSQL then ends all others and recovers. */
async function killBackend(databaseUrl: string): Promise<void> {
  const backends = await query(
    databaseUrl,
    `SELECT pid FROM pg_stat_activity
      WHERE backend_type = 'client backend' AND datname = current_database() AND pid <> pg_backend_pid()`,
  ).catch(() => []);
  const pid = draw(backends)?.pid;
  // PostgreSQL may still be recovering from the last one.
  if (pid === undefined) {
    await sleep(50);
    return killBackend(databaseUrl);
  }
  try {
    process.kill(pid as number, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    return killBackend(databaseUrl);
  }
}

async function killWorker(server: Server | undefined): Promise<void> {
  if (!server) return;
  const { stdout } = await run('pgrep', ['-P', String(server.child.pid)]);
  process.kill(Number(draw(stdout.trim().split('\n'))), 'SIGKILL');
}

/** Kills a server during its start, possibly while it builds or repairs its copy. */
async function killDuringStart(settings: Record<string, string>): Promise<void> {
  const env = { ...settings, PORT: '0', LOG_LEVEL: 'silent' };
  await using starting = startProcess(process.execPath, ['server/main.ts'], env);
  await Promise.race([starting.exited, sleep(300 + Math.random() * 3_000)]);
}

/** Deletes or truncates the copy of a server that does not run. */
async function damageCopy(dataDir: string): Promise<void> {
  const folder = searchIndexFolder({ dataDir });
  if (Math.random() < 0.5) return rm(folder, { recursive: true });
  for (const name of await readdir(folder)) {
    if (name.endsWith('.sqlite')) await truncate(join(folder, name), 100_000);
  }
}

/** Changes spaces in transactions that a crash of PostgreSQL can lose, until `isDone`. */
async function loseChanges(
  engine: Engine,
  pks: readonly number[],
  isDone: () => boolean,
): Promise<void> {
  while (!isDone()) {
    try {
      await transact(engine, async (trx) => {
        await sql`SET LOCAL synchronous_commit = off`.execute(trx);
        const pk = draw(pks);
        const title = `Myriad ${Math.floor(Math.random() * WORDS)}`;
        await trx.updateTable('spaces').set({ title }).where('pk', '=', pk).execute();
        await writerOf(engine).indexSpaces(trx, [pk]);
      });
    } catch (error) {
      if (!engine.isUnavailable(error)) throw error;
      await sleep(50);
    }
  }
}

/** Compares the copy of a machine with the database. */
async function compareCopy(databaseUrl: string, dataDir: string): Promise<void> {
  const options = { runsMaintenance: false, indexer, onIndexRepair: assert.fail };
  await using engine = await openDatabase({ databaseUrl, dataDir }, options);
  await assertConsistent(engine);
}

/** Requests `/readyz` of all machines until it is stopped. */
function observeReadiness(machines: Machines) {
  const counts = { ready: 0, unavailable: 0, wrong: [] as number[] };
  let isStopping = false;
  const observing = machines.senders.map(async (_, i) => {
    while (!isStopping) {
      const send = machines.senders[i] as Send;
      const status = await send('/readyz').then(
        (response) => response.status,
        () => undefined,
      );
      if (status === 200) counts.ready += 1;
      else if (status === 503) counts.unavailable += 1;
      else if (status !== undefined) counts.wrong.push(status);
      await sleep(50);
    }
  });
  return {
    async stop() {
      isStopping = true;
      await Promise.all(observing);
      return counts;
    },
  };
}
