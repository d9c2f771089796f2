import type { ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import manifest from '../../package.json' with { type: 'json' };
import type { Location } from '../../server/database/kind.ts';
import { explainInsecureVersion } from '../../server/process/node-version.js';
import { createTestDatabase } from './databases.ts';
import { INSTANCE } from './metrics.ts';
import { freePort } from './ports.ts';
import { startProcess } from './processes.ts';

const READY_TIMEOUT_MS = 120_000;
const POLL_INTERVAL_MS = 20;

/** The arguments of Node.js in `npm start`. The last one is the script. */
const startArguments = manifest.scripts.start.split(' ').slice(1);

const nodeWarning = explainInsecureVersion(process.versions.node);

/** A server in its own process, run like `npm start`. */
export interface Server extends AsyncDisposable {
  url: string;
  port: number;
  child: ChildProcess;
  dataDir: string;
  /** The database that the server uses. */
  location: Location;
  /** Standard output and standard error so far. */
  output(): string;
  /** The output so far, except the warning about the version of Node.js. */
  unexpectedOutput(): string;
  /** Sends SIGTERM. Resolves to the exit code, or to the signal that ended the process. */
  stop(): Promise<number | NodeJS.Signals>;
  /** Kills the server and its workers with SIGKILL, so that they cannot clean up. */
  kill(): Promise<void>;
}

/**
 * Starts a server and waits until it is ready.
 * @param settings environment variables; without DATA_DIR, the server gets a temporary folder, deleted on disposal;
 *   without DATABASE_URL, a database of `createTestDatabase`
 * @param command  a prefix of the server's command line, such as strace
 * @param script   another script to run instead of the service; it must listen on HOST and PORT and serve /readyz
 */
export async function startServer(
  settings: Record<string, string> = {},
  command: readonly string[] = [],
  script = startArguments.at(-1) as string,
): Promise<Server> {
  const database = settings.DATABASE_URL === undefined ? await createTestDatabase() : undefined;
  const hasOwnDataDir = settings.DATA_DIR === undefined;
  const dataDir = settings.DATA_DIR ?? (await mkdtemp(join(tmpdir(), 'space-service-')));
  const allSettings = { ...database?.settings, ...settings };
  const port = await freePort();
  const flags = startArguments.slice(0, -1);
  const [program = '', ...args] = [...command, process.execPath, ...flags, script];
  const started = startProcess(program, args, {
    HOST: '127.0.0.1',
    PORT: String(port),
    DATA_DIR: dataDir,
    RATE_LIMITS: 'off',
    LOG_LEVEL: 'warn',
    INSTANCE,
    ...allSettings,
  });
  const server: Server = {
    url: `http://127.0.0.1:${port}`,
    port,
    child: started.child,
    dataDir,
    location: { dataDir, databaseUrl: allSettings.DATABASE_URL ?? null },
    output: started.output,
    unexpectedOutput: () => started.output().replace(`${nodeWarning}\n`, ''),
    async stop() {
      if (started.isRunning()) started.child.kill('SIGTERM');
      return started.exited;
    },
    kill: started.kill,
    async [Symbol.asyncDispose]() {
      await started.kill();
      await database?.[Symbol.asyncDispose]();
      if (hasOwnDataDir) await rm(dataDir, { recursive: true, force: true });
    },
  };
  const timeout = AbortSignal.timeout(READY_TIMEOUT_MS);
  while (!timeout.aborted) {
    if (!started.isRunning()) {
      await server[Symbol.asyncDispose]();
      throw new Error(`The server exited:\n${server.output()}`);
    }
    const ready = fetch(`${server.url}/readyz`, { signal: timeout });
    const response = await ready.catch(() => undefined);
    if (response?.ok) return server;
    await sleep(POLL_INTERVAL_MS);
  }
  await server[Symbol.asyncDispose]();
  throw new Error(`The server was not ready after ${READY_TIMEOUT_MS} ms:\n${server.output()}`);
}
