import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** As in `server/process/compile-cache.js`, because compiling takes a third of the start of most programs. */
const COMPILE_CACHE = join(root, 'node_modules/.cache/compiled');

/** A process that a test started. Disposing of it kills its process group, children included. */
export interface RunningProcess extends AsyncDisposable {
  child: ChildProcess;
  /** Standard output so far. */
  stdout(): string;
  /** Standard output and standard error so far, interleaved. */
  output(): string;
  isRunning(): boolean;
  /** Resolves to the exit code, or to the signal that ended the process. */
  exited: Promise<number | NodeJS.Signals>;
  /** Resolves when the process has ended and its output is complete. */
  result: Promise<ProcessResult>;
  /** Kills the process group, as a crash of the machine would. */
  kill(): Promise<void>;
}

export interface ProcessResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** The processes whose group may still have members. */
const running = new Set<RunningProcess>();

/**
 * Starts a program.
 * @param env environment variables besides PATH and the cache of compiled modules
 * @param input standard input
 * @param cwd by default, the root of the repository
 */
export function startProcess(
  program: string,
  args: readonly string[],
  env: Record<string, string> = {},
  input = '',
  cwd = root,
): RunningProcess {
  const child = spawn(program, args, {
    cwd,
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: COMPILE_CACHE, ...env },
    // Its own process group, so that its children can be killed with it.
    detached: true,
  });
  // The program may end without reading its input.
  child.stdin.on('error', () => {}).end(input);
  let stdout = '';
  let stderr = '';
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    output += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    output += text;
  });
  const isRunning = () => child.exitCode === null && child.signalCode === null;
  const exited = once(child, 'exit').then(([code, signal]) => code ?? signal);
  const result = once(child, 'close').then(([code]) => ({ code, stdout, stderr }));
  const kill = async () => {
    if (child.pid === undefined) return void running.delete(started);
    try {
      process.kill(-(child.pid as number), 'SIGKILL');
    } catch (error) {
      // The whole group has exited.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
    await exited;
    running.delete(started);
  };
  const started: RunningProcess = {
    child,
    stdout: () => stdout,
    output: () => output,
    isRunning,
    exited,
    result,
    kill,
    [Symbol.asyncDispose]: kill,
  };
  running.add(started);
  child.once('exit', () => {
    if (!isGroupRunning(child.pid as number)) running.delete(started);
  });
  return started;
}

/** Waits for work that needs a running process. Rejects with the output of the process if it exits before. */
export function whileRunning<T>(process: RunningProcess, work: PromiseLike<T>): Promise<T> {
  const failed = process.result.then(({ code }) => {
    throw new Error(`The process exited with code ${code}:\n${process.output()}`);
  });
  return Promise.race([work, failed]);
}

/** Returns whether a process group still has members, such as the children of its ended leader. */
function isGroupRunning(id: number): boolean {
  try {
    return process.kill(-id, 0);
  } catch {
    return false;
  }
}

/**
 * Returns the environment variable with which Node.js runs a script before a program and before each of its threads.
 */
export function preload(script: string): { NODE_OPTIONS: string } {
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(script)}` };
}

/** Kills every process that is still running, and the children that ended processes have left behind. */
export async function killProcesses(): Promise<void> {
  await Promise.all([...running].map((each) => each.kill()));
}

// Detached process groups would outlive this process.
process.once('exit', () => void killProcesses());
