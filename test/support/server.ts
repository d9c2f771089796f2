import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import manifest from '../../package.json' with { type: 'json' };

const root = fileURLToPath(new URL('../../', import.meta.url));
/** What `npm start` gives to Node.js, the script last. */
const startArguments = manifest.scripts.start.split(' ').slice(1);

/** A server in a process of its own, as `npm start` runs it. */
export interface Server extends AsyncDisposable {
  url: string;
  child: ChildProcess;
  dataDir: string;
  /** All that it has printed. */
  output(): string;
  /** Asks it to end. Resolves to the exit code, or the signal that ended it. */
  stop(): Promise<number | NodeJS.Signals>;
  /** Ends it at once, its workers with it, as a crash of the machine would. */
  kill(): Promise<void>;
}

/**
 * Starts a server and waits until it is ready.
 * @param settings environment variables; without DATA_DIR it gets a temporary folder, removed in the end
 * @param command  what to put before the server's command line, such as strace
 * @param script   what to run instead of the service; it listens where the environment says
 */
export async function startServer(
  settings: Record<string, string> = {},
  command: readonly string[] = [],
  script = startArguments.at(-1) as string,
): Promise<Server> {
  const ownDataDir = settings.DATA_DIR === undefined;
  const dataDir = settings.DATA_DIR ?? (await mkdtemp(join(tmpdir(), 'space-service-')));
  const port = await freePort();
  const flags = startArguments.slice(0, -1);
  const [program = '', ...rest] = [...command, process.execPath, ...flags, script];
  const child = spawn(program, rest, {
    cwd: root,
    env: {
      ...{ PATH: process.env.PATH, HOST: '127.0.0.1', PORT: String(port), DATA_DIR: dataDir },
      ...{ RATE_LIMITS: 'off', LOG_LEVEL: 'warn', ...settings },
    },
    // A group of its own, so that workers can be ended with their supervisor.
    detached: true,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const exited = once(child, 'exit').then(([code, signal]) => code ?? signal);
  const isRunning = () => child.exitCode === null && child.signalCode === null;
  // A group of its own also outlives whoever started it, unless told not to.
  const killAtExit = () => {
    if (isRunning()) process.kill(-(child.pid as number), 'SIGKILL');
  };
  process.once('exit', killAtExit);
  void exited.then(() => process.off('exit', killAtExit));
  const server: Server = {
    url: `http://127.0.0.1:${port}`,
    child,
    dataDir,
    output: () => output,
    async stop() {
      if (isRunning()) child.kill('SIGTERM');
      return exited;
    },
    async kill() {
      if (isRunning()) process.kill(-(child.pid as number), 'SIGKILL');
      await exited;
    },
    async [Symbol.asyncDispose]() {
      await server.kill();
      if (ownDataDir) await rm(dataDir, { recursive: true, force: true });
    },
  };
  for (let i = 0; i < 6_000; i += 1) {
    if (!isRunning()) throw new Error(`The server ended:\n${output}`);
    const answer = await fetch(`${server.url}/readyz`).catch(() => undefined);
    if (answer?.ok) return server;
    await sleep(20);
  }
  await server[Symbol.asyncDispose]();
  throw new Error(`The server was not ready after 120 s:\n${output}`);
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as { port: number };
  probe.close();
  await once(probe, 'close');
  return port;
}
