import { OperatorError } from '../../errors.ts';

// By code rather than by class: an error that comes from the maintenance thread has lost its class.

export function isUniqueViolation(error: unknown): boolean {
  return /^SQLITE_CONSTRAINT_(UNIQUE|PRIMARYKEY)$/.test(codeOf(error));
}

export function isBusy(error: unknown): boolean {
  return /^SQLITE_(BUSY|LOCKED)/.test(codeOf(error));
}

/** Makes an error like SQLite's own for a lock that could not be acquired. */
export function busyError(message: string): Error {
  return Object.assign(new Error(message), { code: 'SQLITE_BUSY' });
}

/** Makes an error like SQLite's own for a full disk. */
export function diskFullError(message: string): Error {
  return Object.assign(new Error(message), { code: 'SQLITE_FULL' });
}

export function isUnavailable(error: unknown): boolean {
  return /^SQLITE_(BUSY|LOCKED|FULL|IOERR|CANTOPEN|READONLY|NOMEM|PROTOCOL)/.test(codeOf(error));
}

/** What the operator has to know of a database that cannot be opened; other errors as they are. */
export function explainFailure(error: unknown, file: string): unknown {
  const found = failures.find(([code]) => code.test(codeOf(error)));
  return found ? new OperatorError(`${file} ${found[1]}`, { cause: error }) : error;
}

const failures: readonly [RegExp, string][] = [
  [/^SQLITE_NOTADB/, 'is not a SQLite database.'],
  [/^SQLITE_CORRUPT/, 'is damaged. Restore it from a backup.'],
  [/^SQLITE_(CANTOPEN|READONLY|PERM)/, "cannot be written: it and its folder must be this user's."],
  [/^SQLITE_(FULL|IOERR)/, 'cannot be read or written: its disk is full, or fails.'],
  [/^SQLITE_(BUSY|LOCKED)/, 'is locked by another program.'],
];

function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : '';
}
