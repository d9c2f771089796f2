import type { DatabaseTransaction, Engine } from '../database/engine.ts';
import type { AvatarStore } from './store.ts';

// Apart from what decodes pictures, whose library the thread that erases accounts need not load.

/** Has a picture's file removed once the transaction has been committed. */
export async function discardPicture(trx: DatabaseTransaction, picture: string): Promise<void> {
  await trx
    .insertInto('discarded_avatars')
    .values({ avatar: picture, remove_after: new Date().toISOString() })
    .execute();
}

/** So many pictures are removed at a time. */
const BATCH = 500;

/**
 * Removes the files of discarded pictures. Whatever stops it, the next call goes on.
 * @throws AggregateError of what kept files from being removed, once all others are
 */
export async function removeDiscardedPictures(engine: Engine, avatars: AvatarStore): Promise<void> {
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
    for (const { avatar: picture } of due) {
      try {
        await avatars.remove(picture);
        removed.push(picture);
      } catch (error) {
        failures.push(error);
      }
    }
    await engine.db.deleteFrom('discarded_avatars').where('avatar', 'in', removed).execute();
  }
  if (failures.length > 0)
    throw new AggregateError(failures, 'Some pictures could not be removed.');
}
