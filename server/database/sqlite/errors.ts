import { OperatorError, TemporaryError } from '../../errors.ts';
import { codeOf } from '../error-code.ts';

// Errors are recognised by their code, because errors from the maintenance thread have lost their class.

export function isUniqueViolation(error: unknown): boolean {
  return /^SQLITE_CONSTRAINT_(UNIQUE|PRIMARYKEY)$/.test(codeOf(error));
}

export function isBusy(error: unknown): boolean {
  return /^SQLITE_(BUSY|LOCKED)/.test(codeOf(error));
}

/** Creates an error like SQLite's own for a lock that could not be acquired. */
export function busyError(message: string): Error {
  return Object.assign(new Error(message), { code: 'SQLITE_BUSY' });
}

/** Creates an error like SQLite's own for a file that could not be read or written. */
export function ioError(message: string, cause?: unknown): Error {
  return Object.assign(new Error(message, { cause }), { code: 'SQLITE_IOERR' });
}

/** Whether a database is damaged, or a table is missing. */
export function isDamage(error: unknown): boolean {
  if (/^SQLITE_(CORRUPT|NOTADB|IOERR_SHORT_READ)/.test(codeOf(error))) return true;
  return (
    codeOf(error) === 'SQLITE_ERROR' &&
    /^(no such table|vtable constructor failed): /.test((error as Error).message)
  );
}

export function isUnavailable(error: unknown): boolean {
  return /^SQLITE_(BUSY|LOCKED|FULL|IOERR|CANTOPEN|READONLY|NOMEM|PROTOCOL)/.test(codeOf(error));
}

/** Whether a file could not be written or created, for example because the disk is full. */
export function isWriteFailure(error: unknown): boolean {
  return /^SQLITE_(FULL|CANTOPEN|READONLY|PERM|IOERR_(WRITE|FSYNC|DIR_FSYNC|TRUNCATE))/.test(
    codeOf(error),
  );
}

/** Whether the disk is full. Without space, SQLite cannot enlarge its shared memory either, which has its own code. */
function isFull(error: unknown): boolean {
  return /^SQLITE_(FULL|IOERR_SHMSIZE)/.test(codeOf(error));
}

/** Converts a SQLite error to an OperatorError that says what to do. Returns other errors unchanged. */
export function explainFailure(error: unknown, file: string): unknown {
  const found = EXPLANATIONS.find(([code]) => code.test(codeOf(error)));
  if (!found) return error;
  const Explained = isFull(error) ? TemporaryError : OperatorError;
  return new Explained(`${file} ${found[1]}`, { cause: error });
}

const EXPLANATIONS: readonly [RegExp, string][] = [
  [/^SQLITE_NOTADB/, 'is not a SQLite database.'],
  [/^SQLITE_CORRUPT/, 'is damaged. Run check-database, which says what to do.'],
  [
    /^SQLITE_(CANTOPEN|READONLY|PERM)/,
    'cannot be written. Give this user write access to the file and its folder.',
  ],
  [
    /^SQLITE_(FULL|IOERR)/,
    'cannot be read or written, because its disk is full or failing. Free some space or replace the disk.',
  ],
  [/^SQLITE_(BUSY|LOCKED)/, 'is locked by another program. Try again when it has finished.'],
];
