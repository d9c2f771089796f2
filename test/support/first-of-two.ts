import type { Engine } from '../../server/database/engine.ts';
import { transactAlone } from '../../server/database/transaction.ts';

/** Sends a request twice while no other transaction can write. Returns the first response. */
export async function firstOfTwo<T>(engine: Engine, send: () => Promise<T>): Promise<T> {
  const lock = Promise.withResolvers<void>();
  const acquired = Promise.withResolvers<void>();
  const locking = transactAlone(engine, () => {
    acquired.resolve();
    return lock.promise;
  });
  await acquired.promise;
  const responses = [send(), send()];
  const first = await Promise.race(responses);
  lock.resolve();
  await Promise.all([...responses, locking]);
  return first;
}
