// https://www.postgresql.org/docs/current/errcodes-appendix.html

/** Returns whether a transaction failed only because of concurrent ones, and nothing of it was committed. */
export function isConflict(error: unknown): boolean {
  return /^(40001|40P01)$/.test(codeOf(error));
}

export function isUniqueViolation(error: unknown): boolean {
  return codeOf(error) === '23505';
}

/**
 * Connection errors, too many connections, a full disk, timeouts, a server that starts, stops or became a standby, and
 * conflicts that remained after all attempts.
 */
const UNAVAILABLE = /^(08...|53...|57P0.|57014|55P03|25006|25P03|40001|40P01|58030|E[A-Z]+)$/;

export function isUnavailable(error: unknown): boolean {
  return UNAVAILABLE.test(codeOf(error)) || isLostConnection(error);
}

/** The errors of `pg` for lost connections and an exhausted pool have no code. */
function isLostConnection(error: unknown): boolean {
  return (
    error instanceof Error &&
    /^(Connection terminated|Client has encountered a connection error|timeout exceeded when trying to connect|Query read timeout)/.test(
      error.message,
    )
  );
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : '';
}
