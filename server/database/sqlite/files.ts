import type Sqlite from 'better-sqlite3';
import { explainFailure } from './errors.ts';
import { openFile } from './open-file.ts';

/** How long to wait for others' locks, in milliseconds. */
const PATIENCE = 30_000;

/**
 * Copies a database as it is at one moment, whoever writes to it meanwhile.
 * @param to a file that is not there, or empty
 * @throws OperatorError
 */
export function copyFile(file: string, to: string): void {
  withFile(file, (handle) => handle.prepare('VACUUM INTO ?').run(to));
}

/**
 * Writes a database anew, without what SQLite left in the gaps of its pages when rows moved. Writers wait.
 * @throws OperatorError
 */
export function rewriteFile(file: string): void {
  withFile(file, (handle) => {
    // The new file is made in SQLite's folder for temporary files, and would else be made in memory.
    handle.pragma('temp_store = FILE');
    handle.exec('VACUUM');
    handle.pragma('wal_checkpoint(TRUNCATE)');
  });
}

function withFile(file: string, work: (handle: Sqlite.Database) => void): void {
  let handle: Sqlite.Database | undefined;
  try {
    handle = openFile(file);
    handle.pragma(`busy_timeout = ${PATIENCE}`);
    work(handle);
  } catch (error) {
    throw explainFailure(error, file);
  } finally {
    handle?.close();
  }
}
