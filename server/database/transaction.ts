import { AsyncLocalStorage } from 'node:async_hooks';
import type { Database, DatabaseTransaction, Engine } from './engine.ts';

/** After this many attempts, `transact` throws the last conflict. */
const MAX_ATTEMPTS = 8;

/** The transaction that the current asynchronous context belongs to. */
const currentTransaction = new AsyncLocalStorage<{
  hasConnection: boolean;
  /** See `announceAfterCommit`. By subject. */
  announcements: Map<string, Engine['announceEvent']>;
}>();

/**
 * Runs `work` in a transaction and commits it. Transactions behave as if they ran one after the other.
 * @param work must be short, because other writers may wait. All its queries must use `transaction`. A query on the
 *   database itself throws, because it could wait for this transaction forever. `work` runs again after a conflict
 *   with another transaction, so it must not have other side effects.
 * @throws the error of `work`, after rolling back
 */
export async function transact<T>(
  engine: Pick<Engine, 'db' | 'isConflict' | 'lockForWriting'>,
  work: Work<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await runSerializable(engine.db, async (trx) => {
        // A transaction that conflicted once would often conflict again. Without other writers, it cannot.
        await engine.lockForWriting(trx, attempt === 1 ? 'shared' : 'exclusive');
        return work(trx);
      });
    } catch (error) {
      if (!engine.isConflict(error) || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

type Work<T> = (transaction: DatabaseTransaction) => Promise<T>;

/** Like `transact`, but runs `work` only once. Other writers wait until it ends. */
export function transactAlone<T>(
  engine: Pick<Engine, 'db' | 'lockForWriting'>,
  work: Work<T>,
): Promise<T> {
  return runSerializable(engine.db, async (trx) => {
    await engine.lockForWriting(trx, 'exclusive');
    return work(trx);
  });
}

function runSerializable<T>(db: Database, work: Work<T>): Promise<T> {
  return enterTransaction(() => db.transaction().setIsolationLevel('serializable').execute(work));
}

/** Runs `work` on a snapshot of the database. Does not block other readers and writers. */
export function readSnapshot<T>(db: Database, work: Work<T>): Promise<T> {
  return enterTransaction(() =>
    db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only').execute(work),
  );
}

/** @throws if the caller is in a transaction, because it could wait forever for a second connection */
async function enterTransaction<T>(work: () => Promise<T>): Promise<T> {
  claimConnection();
  const announcements = new Map<string, Engine['announceEvent']>();
  const result = await currentTransaction.run({ hasConnection: false, announcements }, work);
  for (const [subject, announce] of announcements) announce(subject);
  return result;
}

/**
 * Announces an event once the current transaction is committed.
 * @throws if the caller is not in a transaction
 */
export function announceAfterCommit(engine: Pick<Engine, 'announceEvent'>, subject: string): void {
  const transaction = currentTransaction.getStore();
  if (!transaction) throw new Error('Call announceAfterCommit in a transaction.');
  transaction.announcements.set(subject, engine.announceEvent);
}

/**
 * Claims the only connection of the current transaction. Every driver calls this before it acquires a connection. Does
 * nothing outside a transaction.
 * @throws if the caller is in a transaction that already has a connection
 */
export function claimConnection(): void {
  const transaction = currentTransaction.getStore();
  if (transaction?.hasConnection) {
    throw new Error('Inside a transaction, use the transaction and not the database.');
  }
  if (transaction) transaction.hasConnection = true;
}
