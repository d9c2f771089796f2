import type { Database, Engine } from '../database/engine.ts';
import { quantity } from '../text/quantity.ts';
import type { AvatarStore } from './store.ts';

// This module must not import sharp, because the maintenance thread imports it, too.

/** Maximum number of avatars that one query returns. */
const BATCH_SIZE = 500;

/**
 * Maximum time that failed removals of one call may take together, because other work waits for them. Each removal from
 * an unreachable bucket fails only after seconds.
 */
const MAX_FAILURES_MS = 3_000;

/** Schedules the deletion of an avatar's file after `removeAfter`. In a transaction, the commit schedules it. */
export async function discardAvatar(
  db: Database,
  avatar: string,
  removeAfter = new Date(),
): Promise<void> {
  const remove_after = removeAfter.toISOString();
  await db
    .insertInto('discarded_avatars')
    .values({ avatar, remove_after })
    // A concurrent transaction may discard the avatar, too. Without this clause, PostgreSQL could report a violated key
    // instead of a conflict. Transactions run again only after conflicts.
    .onConflict((conflict) => conflict.column('avatar').doUpdateSet({ remove_after }))
    .execute();
}

/**
 * Removes the files of discarded avatars whose `remove_after` has passed. After an interruption, the next call
 * continues.
 * @throws AggregateError if some files could not be removed; the others have been, unless the failures took too long
 */
export async function removeDiscardedAvatars(engine: Engine, avatars: AvatarStore): Promise<void> {
  const failures: unknown[] = [];
  let failuresMs = 0;
  for (let lastAvatar = ''; failuresMs < MAX_FAILURES_MS; ) {
    const due = await engine.db
      .selectFrom('discarded_avatars')
      .select('avatar')
      .where('remove_after', '<=', new Date().toISOString())
      .where('avatar', '>', lastAvatar)
      .orderBy('avatar')
      .limit(BATCH_SIZE)
      .execute();
    const last = due.at(-1);
    if (!last) break;
    lastAvatar = last.avatar;
    const removed: string[] = [];
    for (const { avatar } of due) {
      if (failuresMs >= MAX_FAILURES_MS) break;
      const startedAt = performance.now();
      try {
        await avatars.remove(avatar);
        removed.push(avatar);
      } catch (error) {
        failures.push(error);
        failuresMs += performance.now() - startedAt;
      }
    }
    // SQL has no empty lists.
    if (removed.length === 0) continue;
    await engine.db.deleteFrom('discarded_avatars').where('avatar', 'in', removed).execute();
  }
  if (failures.length > 0) {
    throw new AggregateError(
      failures,
      `${quantity(failures.length, 'avatar')} could not be removed.`,
    );
  }
}
