import { OperatorError, TemporaryError, withoutPassword } from '../../errors.ts';
import { codeOf } from '../error-code.ts';
import { isUnavailable as isCopyUnavailable } from '../sqlite/errors.ts';

// https://www.postgresql.org/docs/current/errcodes-appendix.html

/** Returns whether an error is a serialization failure or a deadlock. The transaction is then rolled back. */
export function isConflict(error: unknown): boolean {
  return /^(40001|40P01)$/.test(codeOf(error));
}

export function isUniqueViolation(error: unknown): boolean {
  return codeOf(error) === '23505';
}

/**
 * Codes of connection errors, too many connections, a full or failing disk, timeouts, a server that starts, stops or
 * became a standby, and conflicts that remained after all attempts. Errors of this machine's disk are excluded, because
 * they come from the avatar folder. So are invalid arguments to Node.js, because they are programming errors.
 */
const UNAVAILABLE_CODES =
  /^(08...|53...|57P0.|57014|55P03|25006|25P03|25P04|40001|40P01|58030|E(?!RR_INVALID_|RR_OUT_OF_RANGE|NOSPC|DQUOT|ROFS|IO$)[A-Z_]+)$/;

/** Codes of rejected server certificates: https://nodejs.org/api/tls.html#x509-certificate-error-codes */
const CERTIFICATE_CODES =
  /^(ERR_TLS_CERT_.*|CERT_.*|UNABLE_TO_.*|CRL_.*|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED|HOSTNAME_MISMATCH)$/;

/** Codes of failed TLS handshakes and unusable certificate files of this machine. */
const TLS_CODES = /^ERR_(OS)?SSL_/;

/** Also for errors of the copy of the search index. */
export function isUnavailable(error: unknown): boolean {
  if (isCopyUnavailable(error)) return true;
  // Errors of files have a path: a missing file of `sslrootcert`, or an avatar.
  if (error instanceof Error && 'path' in error) return false;
  return (
    UNAVAILABLE_CODES.test(codeOf(error)) ||
    CERTIFICATE_CODES.test(codeOf(error)) ||
    TLS_CODES.test(codeOf(error)) ||
    isLostConnection(error) ||
    isPoolExhausted(error)
  );
}

/** The code of a write that a standby refuses. */
export const READ_ONLY = '25006';

/**
 * Returns whether a standby has refused to begin a serializable transaction, such as those of `transact`, or a
 * statement on the unlogged table of the rate limits. The errors have the code of any unsupported feature. Their
 * `routine`, a function in PostgreSQL's source code, shows the cause.
 */
export function isRefusedByStandby({ code, routine = '' }: ServerError): boolean {
  return code === '0A000' && ['call_enum_check_hook', 'get_relation_info'].includes(routine);
}

interface ServerError {
  code?: string | undefined;
  routine?: string | undefined;
}

// `pg` sets no code for lost connections and an exhausted pool.

function isLostConnection(error: unknown): boolean {
  return (
    error instanceof Error &&
    /^(Connection terminated|Client has encountered a connection error)/.test(error.message)
  );
}

/** Returns whether a query has waited too long for a connection because all are in use. */
function isPoolExhausted(error: unknown): boolean {
  return error instanceof Error && error.message === 'timeout exceeded when trying to connect';
}

/** Returns whether a relation, function, type or other object that a statement creates already exists. */
export function isDuplicateObject(error: unknown): boolean {
  return /^(42P07|42723|42710)$/.test(codeOf(error));
}

/** Creates an error like PostgreSQL's own for a statement that takes too long. */
export function timeoutError(message: string): Error {
  return Object.assign(new Error(message), { code: '57014' });
}

/** Creates an error like PostgreSQL's own for a server that is shutting down. */
export function stoppingError(message: string): Error {
  return Object.assign(new Error(message), { code: '57P01' });
}

/** For example a new connection while the server's disk is full. */
const INTERNAL_ERROR = /^XX/;

const WRONG_PASSWORD = 'rejects the user name or the password.';
const MISSING_DATABASE =
  'has no such database. Check its name, or create it, for example with createdb.';
const MISSING_TLS =
  'does not allow this user to connect without TLS. Add sslmode to DATABASE_URL, or change pg_hba.conf.';

const EXPLANATIONS: readonly [RegExp, string][] = [
  [
    /^ECONNREFUSED/,
    'does not accept connections. Check its host and port, and that it is running.',
  ],
  [/^(ENOTFOUND|EAI_)/, 'has an unknown host name.'],
  [/^28P01/, WRONG_PASSWORD],
  [/^28/, 'does not allow this user to connect. Check the user name and pg_hba.conf.'],
  [/^3D000/, MISSING_DATABASE],
  [
    /^42501/,
    "denies the user a privilege that the service needs. Make the user the owner of the service's tables.",
  ],
  [/^25006/, 'is a standby or read-only. Set DATABASE_URL to the primary.'],
  [/^(08|57P0|53|40)/, 'is temporarily unavailable. Try again later.'],
  [/^(55P03|57014|25P03|25P04)/, 'did not finish a statement in time. Try again later.'],
  [/^58030/, 'cannot read or write its files. Check its disk.'],
  [INTERNAL_ERROR, 'has an internal error. Check its log and its disk.'],
  [
    /^(ERR_TLS_CERT_ALTNAME_INVALID|HOSTNAME_MISMATCH)$/,
    'has a certificate for another host name. Use that name in DATABASE_URL, or replace the certificate.',
  ],
  [
    /^CERT_(HAS_EXPIRED|NOT_YET_VALID)$/,
    'has a certificate that has expired or is not valid yet. Replace the certificate.',
  ],
  [
    CERTIFICATE_CODES,
    'has a certificate that cannot be verified. Set sslrootcert in DATABASE_URL to the file of its root certificate.',
  ],
  [
    TLS_CODES,
    'does not agree on TLS with this machine. Check the sslmode and the files of certificates in DATABASE_URL.',
  ],
];

/**
 * Explanations of wrong settings that are recognised by their message, because their errors have no code of their own.
 * All errors of PgBouncer have the same code.
 */
const SETTING_EXPLANATIONS: readonly [RegExp, string][] = [
  [
    /^unsupported startup parameter/,
    'is a PgBouncer that rejects timeouts. Add statement_timeout, lock_timeout and idle_in_transaction_session_timeout to its ignore_startup_parameters.',
  ],
  [
    /^The server does not support SSL connections/,
    'does not support TLS. Enable it there, or set sslmode=disable in DATABASE_URL.',
  ],
  [
    /^SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be /,
    'requires a password. Add it to DATABASE_URL.',
  ],
  [/pg_hba\.conf .*no encryption$|^SSL required$/, MISSING_TLS],
  [
    /^permission denied for database /,
    'does not allow this user to use the database. Run GRANT CONNECT ON DATABASE, or make the user its owner.',
  ],
  [
    /^permission denied to create temporary tables /,
    'does not allow this user to create temporary tables. Run GRANT TEMPORARY ON DATABASE.',
  ],
  [/^(SASL|password) authentication failed|^no such user$/, WRONG_PASSWORD],
  [/^no such database|^database .+ does not exist$/, MISSING_DATABASE],
];

/** Converts an error of PostgreSQL to an OperatorError that says what to do. Returns other errors unchanged. */
export function explainFailure(error: unknown, url: string): unknown {
  if (!(error instanceof Error)) return error;
  const setting = findFileSetting(error, url);
  if (setting !== undefined) {
    const message = `Cannot read the file of ${setting} in DATABASE_URL: ${error.message}`;
    return new OperatorError(message, { cause: error });
  }
  const code = codeOf(error);
  const wrongSetting = SETTING_EXPLANATIONS.find(([message]) => message.test(error.message));
  const isTemporary =
    (isUnavailable(error) || INTERNAL_ERROR.test(code)) &&
    !wrongSetting &&
    ![CERTIFICATE_CODES, TLS_CODES].some((codes) => codes.test(code));
  const found = wrongSetting ?? EXPLANATIONS.find(([codes]) => codes.test(code));
  // An error of the server, rather than of the connection to it.
  const isReported = 'severity' in error;
  if (!found && !isReported && !isTemporary) return error;
  const explanation = found?.[1] ?? (isReported ? 'reports an error.' : 'cannot be reached.');
  const report = isReported ? ` (PostgreSQL: ${error.message.replaceAll(/\s+/g, ' ')})` : '';
  const message = `The PostgreSQL server of DATABASE_URL=${withoutPassword(url)} ${explanation}${report}`;
  return isTemporary
    ? new TemporaryError(message, { cause: error })
    : new OperatorError(message, { cause: error });
}

/** Returns the name of the parameter of the URL whose file an error is about, such as `sslrootcert`. */
function findFileSetting(error: Error, url: string): string | undefined {
  if (!('path' in error) || !URL.canParse(url)) return undefined;
  const found = [...new URL(url).searchParams].find(([, value]) => value === error.path);
  return found?.[0];
}
