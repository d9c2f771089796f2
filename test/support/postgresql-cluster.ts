import { execFile } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  createDatabase,
  createServerFolder,
  databaseUrlOf,
  execute,
  PASSWORD,
  prepareServer,
  query,
  type ServerProcesses,
  USER,
} from './postgresql.ts';

/** A PostgreSQL server and its streaming standby, with temporary data. */
export interface PostgresqlCluster extends AsyncDisposable {
  primary: ServerProcesses;
  standby: Standby;
  /** Creates an empty database. Resolves when the standby has it, too. */
  createDatabase(name: string): Promise<{ primaryUrl: string; standbyUrl: string }>;
  /** Waits until the standby has replayed everything that the primary has written. */
  catchUp(): Promise<void>;
}

export interface Standby extends ServerProcesses {
  /** Keeps receiving the write-ahead log, but does not apply it. Queries see the state as of now. */
  pauseReplay(): Promise<void>;
  resumeReplay(): Promise<void>;
  /** Makes the standby a server of its own that accepts writes. Stop or kill the primary before. */
  promote(): Promise<void>;
  /** Changes a setting that needs no restart. */
  set(name: string, value: string): Promise<void>;
}

export interface ClusterOptions {
  /** Where to create the data folders. By default, the system's folder for temporary files. */
  parent?: string;
  /** Settings of both servers as `name=value`. They override those for tests. */
  settings?: readonly string[];
  /** Settings of the standby only. */
  standbySettings?: readonly string[];
  /**
   * `synchronous_commit` of the primary: commits wait for the standby, even while it is gone. By default, replication
   * is asynchronous.
   */
  synchronousCommit?: 'remote_write' | 'on' | 'remote_apply';
}

/** Tests kill these servers. The primary keeps enough of the log for a standby that comes back later. */
const CLUSTER_SETTINGS = ['fsync=on', 'wal_keep_size=512MB', 'wal_retrieve_retry_interval=200ms'];

const STANDBY_NAME = 'standby';

/** Starts a primary, and a standby that is a copy of it. */
export async function startPostgresqlCluster({
  parent = tmpdir(),
  settings = [],
  standbySettings = [],
  synchronousCommit,
}: ClusterOptions = {}): Promise<PostgresqlCluster> {
  await using started = new AsyncDisposableStack();
  const folder = await createServerFolder(parent);
  started.defer(() => rm(folder, { recursive: true, force: true }));
  const [primaryDir, standbyDir] = [join(folder, 'primary'), join(folder, 'standby')];
  const common = [...CLUSTER_SETTINGS, ...settings];
  const { initialise, ...primary } = await prepareServer(primaryDir, [
    ...common,
    ...(synchronousCommit
      ? [`synchronous_standby_names=${STANDBY_NAME}`, `synchronous_commit=${synchronousCommit}`]
      : []),
  ]);
  await initialise();
  // The package has no pg_basebackup, but a copy of a server that does not run is a backup, too.
  await promisify(execFile)('cp', ['-a', primaryDir, standbyDir]);
  await writeFile(join(standbyDir, 'standby.signal'), '');
  const address = `host=127.0.0.1 port=${primary.port} user=${USER} password=${PASSWORD}`;
  const standby = await prepareServer(standbyDir, [
    ...common,
    `primary_conninfo=${address} application_name=${STANDBY_NAME}`,
    ...standbySettings,
  ]);
  await primary.start();
  started.defer(primary.stop);
  await standby.start();
  // Stops before the primary, because a stopping primary waits for it.
  started.defer(standby.stop);
  const owned = started.move();

  const catchUp = async () => {
    const [row] = await query(primary.url, 'SELECT pg_current_wal_lsn() AS written');
    const isReplayed = `SELECT pg_last_wal_replay_lsn() >= '${row?.written}' AS replayed`;
    while (!(await query(standby.url, isReplayed))[0]?.replayed) {
      // Each query opens a connection, which is pause enough.
    }
  };
  return {
    primary,
    standby: {
      ...standby,
      pauseReplay: async () => {
        await execute(standby.url, 'SELECT pg_wal_replay_pause()');
        const state = 'SELECT pg_get_wal_replay_pause_state() AS state';
        while ((await query(standby.url, state))[0]?.state !== 'paused') {
          // A request to pause takes effect after the current record.
        }
      },
      resumeReplay: () => execute(standby.url, 'SELECT pg_wal_replay_resume()'),
      promote: () => execute(standby.url, 'SELECT pg_promote()'),
      async set(name, value) {
        await execute(standby.url, `ALTER SYSTEM SET ${name} = '${value}'`);
        await execute(standby.url, 'SELECT pg_reload_conf()');
      },
    },
    async createDatabase(name) {
      const primaryUrl = await createDatabase(primary.url, name);
      await catchUp();
      return { primaryUrl, standbyUrl: databaseUrlOf(standby.url, name) };
    },
    catchUp,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
