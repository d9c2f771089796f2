import { Console } from 'node:console';
import { Readable, Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import type { Terminal } from '../../server/command-line/command.ts';
import { runCommand as run } from '../../server/command-line/run.ts';
import { entryOf, isCommand } from '../../server/commands/index.ts';
import { type ProcessResult, type RunningProcess, startProcess } from './processes.ts';

/** Arguments of Node.js that run a command of the server, such as `export`, like the scripts in package.json. */
export const PROGRAM = ['--import', './server/process/preload.js', 'server/main.ts'] as const;

/**
 * Runs a command in this process.
 * @param environment the settings
 * @param input standard input
 * @param isTerminal whether the command reads and writes a terminal
 */
export async function runCommand(
  name: string,
  args: readonly string[],
  environment: Record<string, string>,
  input = '',
  { isTerminal = false } = {},
): Promise<ProcessResult> {
  if (!isCommand(name)) throw new Error(`There is no command ${name}.`);
  const output = recorder(isTerminal);
  const errors = recorder(isTerminal);
  const terminal: Terminal = {
    environment,
    input: Object.assign(Readable.from([Buffer.from(input)]), { isTTY: isTerminal }),
    output: output.stream,
    errors: errors.stream,
    console: new Console(output.stream, errors.stream),
  };
  const code = await run(name, entryOf(name), args, terminal);
  return { code, stdout: output.text(), stderr: errors.text() };
}

/**
 * Runs a command in this process, which must succeed. Returns its standard output.
 * @throws Error with its standard error
 */
export async function completeCommand(...args: Parameters<typeof runCommand>): Promise<string> {
  const { code, stdout, stderr } = await runCommand(...args);
  if (code !== 0) throw new Error(`${args[0]} returned the exit code ${code}:\n${stderr}`);
  return stdout;
}

/** Starts the program of a command in its own process, like the scripts in package.json without their memory limits. */
export function startProgram(
  name: string,
  args: readonly string[],
  settings: Record<string, string>,
  input = '',
): RunningProcess {
  return startProcess(process.execPath, [...PROGRAM, name, ...args], settings, input);
}

/** Runs the program of a command to its end. */
export async function runProgram(...args: Parameters<typeof startProgram>): Promise<ProcessResult> {
  await using running = startProgram(...args);
  return await running.result;
}

function recorder(isTTY: boolean) {
  let text = '';
  const decoder = new StringDecoder();
  const stream = new Writable({
    decodeStrings: false,
    write(chunk: string | Buffer, _encoding, done) {
      text += decoder.write(chunk);
      done();
    },
  });
  return { stream: Object.assign(stream, { isTTY }), text: () => text };
}
