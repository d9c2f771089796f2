import { AsyncLocalStorage } from 'node:async_hooks';
import type { Database, DatabaseTransaction } from './engine.ts';

const current = new AsyncLocalStorage<{ hasBegun: boolean }>();

/**
 * Runs `work` as one transaction: all of it or nothing. Whoever asks the database itself inside `work` would wait
 * for the very transaction they are in, so that is an error. Do nothing slow inside: no hashing, no files.
 */
export function transact<T>(
  db: Database,
  work: (transaction: DatabaseTransaction) => Promise<T>,
): Promise<T> {
  if (db.isTransaction) return work(db as DatabaseTransaction);
  return current.run({ hasBegun: false }, () => db.transaction().execute(work));
}

/** Runs `work` on one unchanging state of the database, without holding up anybody's writes. */
export function readSnapshot<T>(
  db: Database,
  work: (snapshot: DatabaseTransaction) => Promise<T>,
): Promise<T> {
  return current.run({ hasBegun: false }, () =>
    db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only').execute(work),
  );
}

/** What each driver calls before it hands out a connection. */
export function refuseInsideTransaction(): void {
  const transaction = current.getStore();
  if (transaction?.hasBegun) {
    throw new Error('Inside a transaction, use the transaction and not the database.');
  }
  if (transaction) transaction.hasBegun = true;
}
