import { AsyncLocalStorage } from 'node:async_hooks';
import type { Database, DatabaseTransaction } from './engine.ts';

/** The transaction that the current asynchronous context belongs to. */
const currentTransaction = new AsyncLocalStorage<{ hasConnection: boolean }>();

/**
 * Runs `work` in a transaction and commits it. If `db` is already a transaction, `work` joins it.
 * @param work must be short, because other writers wait. All its queries must use `transaction`. A query on the
 *   database itself throws, because it would wait for this transaction forever.
 * @throws the error of `work`, after rolling back
 */
export function transact<T>(
  db: Database,
  work: (transaction: DatabaseTransaction) => Promise<T>,
): Promise<T> {
  if (db.isTransaction) return work(db as DatabaseTransaction);
  return currentTransaction.run({ hasConnection: false }, () => db.transaction().execute(work));
}

/** Runs `work` on a snapshot of the database. Does not block other readers and writers. */
export function readSnapshot<T>(
  db: Database,
  work: (snapshot: DatabaseTransaction) => Promise<T>,
): Promise<T> {
  return currentTransaction.run({ hasConnection: false }, () =>
    db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only').execute(work),
  );
}

/**
 * Every driver calls this when it acquires a connection.
 * @throws if the caller is in a transaction, which already has a connection
 */
export function assertOutsideTransaction(): void {
  const transaction = currentTransaction.getStore();
  if (transaction?.hasConnection) {
    throw new Error('Inside a transaction, use the transaction and not the database.');
  }
  if (transaction) transaction.hasConnection = true;
}
