import { DomainError, OperatorError, TemporaryError } from '../errors.ts';

/**
 * Runs a program. If an error explains itself to the operator, prints its message and exits.
 *
 * Also sets the umask, so that only the owner can read the files that the program creates.
 * @param exitCode           the exit code after such a failure
 * @param temporaryExitCode  the exit code after a TemporaryError, or if a disk is full
 */
export async function runProgram(
  work: () => Promise<void>,
  exitCode = 1,
  temporaryExitCode = exitCode,
): Promise<void> {
  process.umask(0o077);
  try {
    await work();
  } catch (error) {
    if (!isExplained(error)) throw error;
    console.error(error.message);
    process.exit(isTemporary(error) ? temporaryExitCode : exitCode);
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
