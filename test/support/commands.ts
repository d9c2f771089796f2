import { type ProcessResult, type RunningProcess, startProcess } from './processes.ts';

/**
 * Starts a program of the server like the scripts in package.json, but without their limits of memory.
 * @param program its path in `server/` without the extension, such as `commands/export`
 */
export function startCommand(
  program: string,
  args: readonly string[],
  settings: Record<string, string>,
  input = '',
): RunningProcess {
  const flags = ['--import', './server/process/preload.js', `server/${program}.ts`];
  return startProcess(process.execPath, [...flags, ...args], settings, input);
}

/** Runs a program of the server to its end. */
export async function runCommand(...args: Parameters<typeof startCommand>): Promise<ProcessResult> {
  await using running = startCommand(...args);
  return await running.result;
}

/**
 * Runs a program of the server, which must succeed. Returns its standard output.
 * @throws Error with its standard error
 */
export async function completeCommand(...args: Parameters<typeof startCommand>): Promise<string> {
  const { code, stdout, stderr } = await runCommand(...args);
  if (code !== 0) throw new Error(`${args[0]} exited with code ${code}:\n${stderr}`);
  return stdout;
}
