import type { DatabaseTransaction, Engine } from '../database/engine.ts';
import type { AvatarStore } from './store.ts';

// Apart from what decodes avatars, whose library the thread that erases accounts need not load.

/** Has an avatar's file removed once the transaction has been committed. */
export async function discardAvatar(trx: DatabaseTransaction, avatar: string): Promise<void> {
  await trx
    .insertInto('discarded_avatars')
    .values({ avatar, remove_after: new Date().toISOString() })
    .execute();
}

/** So many avatars are removed at a time. */
const BATCH = 500;

/**
 * Removes the files of discarded avatars. Whatever stops it, the next call goes on.
 * @throws AggregateError of what kept files from being removed, once all others are
 */
export async function removeDiscardedAvatars(engine: Engine, avatars: AvatarStore): Promise<void> {
  const failures: unknown[] = [];
  for (let after = ''; ; ) {
    const due = await engine.db
      .selectFrom('discarded_avatars')
      .select('avatar')
      .where('remove_after', '<=', new Date().toISOString())
      .where('avatar', '>', after)
      .orderBy('avatar')
      .limit(BATCH)
      .execute();
    const last = due.at(-1);
    if (!last) break;
    after = last.avatar;
    const removed: string[] = [];
    for (const { avatar } of due) {
      try {
        await avatars.remove(avatar);
        removed.push(avatar);
      } catch (error) {
        failures.push(error);
      }
    }
    await engine.db.deleteFrom('discarded_avatars').where('avatar', 'in', removed).execute();
  }
  if (failures.length > 0) throw new AggregateError(failures, 'Some avatars could not be removed.');
}
