import { OperatorError, TemporaryError } from '../errors.ts';

/**
 * Runs a program. On an OperatorError or a failed system call, prints the error message and exits.
 *
 * Only its own user can read the files that the program creates.
 * @param exitCode           the exit code after such a failure
 * @param temporaryExitCode  the exit code after a TemporaryError
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
    if (!(error instanceof OperatorError) && !isSystemError(error)) throw error;
    console.error((error as Error).message);
    process.exit(error instanceof TemporaryError ? temporaryExitCode : exitCode);
  }
}

/** Whether a system call failed. Node's message for it is one line that names the file or the port. */
function isSystemError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error;
}
