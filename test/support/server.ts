import type { ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import manifest from '../../package.json' with { type: 'json' };
import { explainInsecureVersion } from '../../server/process/node-version.js';
import { freePort } from './ports.ts';
import { startProcess } from './processes.ts';

/** The arguments that `npm start` passes to Node.js, with the script last. */
const startArguments = manifest.scripts.start.split(' ').slice(1);

const nodeWarning = explainInsecureVersion(process.versions.node);

/** A server in its own process, run like `npm start`. */
export interface Server extends AsyncDisposable {
  url: string;
  port: number;
  child: ChildProcess;
  dataDir: string;
  /** Everything that it has printed so far. */
  output(): string;
  /** What it has printed except the warning about the version of Node.js. */
  unexpectedOutput(): string;
  /** Sends SIGTERM. Resolves to the exit code, or to the signal that ended it. */
  stop(): Promise<number | NodeJS.Signals>;
  /** Kills it and its workers without a chance to clean up, like a crash of the machine. */
  kill(): Promise<void>;
}

/**
 * Starts a server and waits until it is ready.
 * @param settings environment variables; without DATA_DIR, the server uses a temporary folder that is deleted with it
 * @param command  a prefix of the server's command line, such as strace
 * @param script   the script to run instead of the service; it must listen on HOST and PORT
 */
export async function startServer(
  settings: Record<string, string> = {},
  command: readonly string[] = [],
  script = startArguments.at(-1) as string,
): Promise<Server> {
  const hasOwnDataDir = settings.DATA_DIR === undefined;
  const dataDir = settings.DATA_DIR ?? (await mkdtemp(join(tmpdir(), 'space-service-')));
  const port = await freePort();
  const flags = startArguments.slice(0, -1);
  const [program = '', ...args] = [...command, process.execPath, ...flags, script];
  const started = startProcess(program, args, {
    HOST: '127.0.0.1',
    PORT: String(port),
    DATA_DIR: dataDir,
    RATE_LIMITS: 'off',
    LOG_LEVEL: 'warn',
    ...settings,
  });
  const server: Server = {
    url: `http://127.0.0.1:${port}`,
    port,
    child: started.child,
    dataDir,
    output: started.printed,
    unexpectedOutput: () => started.printed().replace(`${nodeWarning}\n`, ''),
    async stop() {
      if (started.isRunning()) started.child.kill('SIGTERM');
      return started.exited;
    },
    kill: started.kill,
    async [Symbol.asyncDispose]() {
      await started.kill();
      if (hasOwnDataDir) await rm(dataDir, { recursive: true, force: true });
    },
  };
  for (let i = 0; i < 6_000; i += 1) {
    if (!started.isRunning()) throw new Error(`The server exited:\n${server.output()}`);
    const response = await fetch(`${server.url}/readyz`).catch(() => undefined);
    if (response?.ok) return server;
    await sleep(20);
  }
  await server[Symbol.asyncDispose]();
  throw new Error(`The server was not ready after 120 s:\n${server.output()}`);
}
