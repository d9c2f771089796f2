import { DomainError, OperatorError, TemporaryError } from '../errors.ts';
import { parseArguments, UsageError } from './arguments.ts';
import type { CommandEntry, Terminal } from './command.ts';
import { helpOf, usageHint } from './help.ts';

/**
 * Runs a command. If an error explains itself to the operator, prints its message.
 * @returns the exit code
 */
export async function runCommand(
  name: string,
  entry: CommandEntry,
  args: readonly string[],
  terminal: Terminal,
): Promise<number> {
  const { console } = terminal;
  try {
    const given = parseArguments(name, entry, args);
    if (given.flags.includes('help')) {
      console.log(helpOf(name, entry));
      return 0;
    }
    const command = await entry.load();
    return (await command(given, terminal)) ?? 0;
  } catch (error) {
    if (!isExplained(error)) throw error;
    console.error(error.message);
    if (error instanceof UsageError) {
      console.error(usageHint(name, entry));
      return 1;
    }
    const { failureCode = 1, temporaryFailureCode = failureCode } = entry;
    return isTemporary(error) ? temporaryFailureCode : failureCode;
  }
}

/** Whether a restart may succeed without a change of the settings. The operator may free space on a full disk. */
function isTemporary(error: Error): boolean {
  return error instanceof TemporaryError || (error as NodeJS.ErrnoException).code === 'ENOSPC';
}

/** Whether the message of an error is a sentence for the operator. All other errors are bugs, which need a stack. */
function isExplained(error: unknown): error is Error {
  if (error instanceof OperatorError || error instanceof DomainError) return true;
  // A failed system call: the message is one line that names the file or the port.
  return error instanceof Error && 'syscall' in error;
}
