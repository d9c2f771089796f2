import { OperatorError } from '../errors.ts';

/**
 * Does the work of a program that the operator starts. What it writes is for its own user's eyes. If the operator, or
 * the system, stands in its way, it ends with a line that says so.
 * @param status the exit status then
 */
export async function runProgram(work: () => Promise<void>, status = 1): Promise<void> {
  process.umask(0o077);
  try {
    await work();
  } catch (error) {
    if (!(error instanceof OperatorError) && !isOfTheSystem(error)) throw error;
    console.error((error as Error).message);
    process.exit(status);
  }
}

/** Whether the system refused something, a file or a port: its messages name it, and are one line. */
function isOfTheSystem(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error;
}
