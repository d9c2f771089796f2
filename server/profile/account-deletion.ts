import { type Caller, requireSession } from '../auth/sessions.ts';
import { discardPicture } from '../avatars/discarded-avatars.ts';
import type { Database, Engine, TaskTarget } from '../database/engine.ts';
import { transact } from '../database/transaction.ts';
import { changeParticipantCount } from '../spaces/participations.ts';
import { eraseSpaceRows } from '../spaces/space-deletion.ts';

/** Erases the caller's account. A large one takes a while, so it does not happen on this thread. */
export async function deleteAccount(engine: Engine, { user, session }: Caller): Promise<void> {
  await engine.runTask('eraseAccount', { id: user, session });
}

/**
 * Deletes everything of a user, in one transaction: sessions, appreciations given and received, messages, memberships,
 * and the spaces they created with all that is in them. The picture's file follows, and the bytes of index and log
 * files are overwritten in the background.
 * @throws DomainError `unauthenticated`, if the session has ended meanwhile
 */
export async function eraseAccount(
  engine: Engine,
  { id: user, session }: TaskTarget,
): Promise<void> {
  await transact(engine.db, async (trx) => {
    await requireSession(trx, { session });
    const account = await trx
      .selectFrom('users')
      .select('picture')
      .where('id', '=', user)
      .executeTakeFirstOrThrow();

    const own = await trx.selectFrom('spaces').select('id').where('creator', '=', user).execute();
    for (const { id } of own) await eraseSpaceRows(engine, trx, id);
    await leaveAllSpaces(engine, trx, user);

    // Children first: deleting a row whose children are gone has nothing to look for.
    await trx.deleteFrom('appreciations').where('user', '=', user).execute();
    await trx.deleteFrom('appreciations').where('author', '=', user).execute();
    await trx.deleteFrom('messages').where('author', '=', user).execute();
    await trx.deleteFrom('participations').where('user', '=', user).execute();
    await trx.deleteFrom('sessions').where('user', '=', user).execute();
    await trx.deleteFrom('users').where('id', '=', user).execute();

    if (account.picture !== null) await discardPicture(trx, account.picture);
    await trx
      .insertInto('pending_purges')
      .values({ requested_at: new Date().toISOString() })
      .execute();
  });
}

async function leaveAllSpaces(engine: Engine, trx: Database, user: number): Promise<void> {
  const spaces = await trx
    .selectFrom('participations')
    .select('space')
    .where('user', '=', user)
    .where('left_at', 'is', null)
    .execute();
  for (const { space } of spaces) await changeParticipantCount(engine, trx, space, -1);
}
