/** The stored hash of a password was replaced after an attempt had verified it. */
export class HashReplacedError extends Error {}

/** Each attempt after the first one means that the password or its hash was replaced during the previous attempt. */
const MAX_ATTEMPTS = 3;

/**
 * Runs an attempt that verifies a password, and repeats it if it throws a HashReplacedError.
 * @throws the error of the attempt, or of `createError` after three attempts
 */
export async function retryReplacedHash<T>(
  attempt: () => Promise<T>,
  createError: () => Error,
): Promise<T> {
  for (let count = 1; count <= MAX_ATTEMPTS; count += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof HashReplacedError)) throw error;
    }
  }
  throw createError();
}
