import type { Block } from '../../generated/types.gen.ts';
import { countOperation } from '../accounts/quotas.ts';
import { type Caller, requireSession } from '../auth/sessions.ts';
import type { DatabaseTransaction, Engine } from '../database/engine.ts';
import { isLiveUser } from '../database/erased-rows.ts';
import { readPage } from '../database/keyset-page.ts';
import { announceAfterCommit, transact } from '../database/transaction.ts';
import { DomainError } from '../errors.ts';
import type { Page, PageRequest } from '../pagination.ts';
import type { AvatarResources, QuotaResources } from '../resources.ts';
import { readUntil } from '../spaces/activity.ts';
import { listSubject } from '../spaces/subjects.ts';
import { findUser } from '../users/user.ts';
import { summarizeUser } from '../users/user-summary.ts';

/**
 * Blocks a user for the caller. Does nothing if the caller has blocked them already.
 * @throws DomainError `user_not_found`, `own_account`, `too_many_requests`
 */
export async function blockUser(
  { engine, avatars, quotas }: AvatarResources & QuotaResources,
  caller: Caller,
  userId: string,
): Promise<Block> {
  return transact(engine, async (trx) => {
    await requireSession(trx, caller);
    await countOperation(trx, quotas, caller, 'blockUser');
    const user = await findUser(trx, userId);
    if (user.pk === caller.userPk) {
      throw new DomainError('own_account', 'You cannot block yourself.');
    }
    const keys = { user_pk: caller.userPk, blocked_pk: user.pk };
    const block = await trx
      .insertInto('blocks')
      .values({ ...keys, created_at: new Date().toISOString() })
      .onConflict((conflict) => conflict.columns(['user_pk', 'blocked_pk']).doNothing())
      .returning('created_at')
      .executeTakeFirst();
    if (block) await announceMentions(engine, trx, keys);
    const { created_at } =
      block ??
      (await trx
        .selectFrom('blocks')
        .select('created_at')
        .where('user_pk', '=', keys.user_pk)
        .where('blocked_pk', '=', keys.blocked_pk)
        .executeTakeFirstOrThrow());
    return { user: summarizeUser(avatars, user), created_at };
  });
}

/** Ends the block of a user by the caller. Does nothing if there is none. */
export async function unblockUser(engine: Engine, caller: Caller, userId: string): Promise<void> {
  await transact(engine, async (trx) => {
    await requireSession(trx, caller);
    const [block] = await trx
      .deleteFrom('blocks')
      .where('user_pk', '=', caller.userPk)
      .where('blocked_pk', '=', (eb) =>
        eb.selectFrom('users').select('pk').where('user_id', '=', userId),
      )
      .returning(['user_pk', 'blocked_pk'])
      .execute();
    if (block) await announceMentions(engine, trx, block);
  });
}

/** Announces the spaces whose number of unread mentions a block or its end has changed. */
async function announceMentions(
  engine: Engine,
  trx: DatabaseTransaction,
  { user_pk, blocked_pk }: { user_pk: number; blocked_pk: number },
): Promise<void> {
  const changed_in = await engine.transactionNumber(trx);
  await trx
    .updateTable('participations')
    .set({ changed_in })
    .where('user_pk', '=', user_pk)
    .where('left_at', 'is', null)
    .where('is_muted', '=', 0)
    .where(({ exists, selectFrom, ref }) =>
      exists(
        selectFrom('mentions')
          .innerJoin('messages', 'messages.pk', 'mentions.message_pk')
          .select('mentions.message_pk')
          .where('mentions.user_pk', '=', user_pk)
          .whereRef('mentions.space_pk', '=', ref('participations.space_pk'))
          .where('mentions.created_at', '>', readUntil)
          .where('messages.author_pk', '=', blocked_pk),
      ),
    )
    .execute();
  announceAfterCommit(engine, listSubject(user_pk));
}

/** Returns a page of the users whom the caller has blocked, the latest first. */
export async function listBlocks(
  { engine, avatars }: AvatarResources,
  { userPk }: Caller,
  request: PageRequest,
): Promise<Page<Block>> {
  const query = engine.db
    .selectFrom('blocks')
    .innerJoin('users', 'users.pk', 'blocks.blocked_pk')
    .select(['blocked_pk', 'blocks.created_at', 'user_id', 'username', 'avatar'])
    .where('user_pk', '=', userPk)
    .where(isLiveUser('blocked_pk'));
  const columns = ['blocks.created_at', 'blocks.blocked_pk'] as const;
  const { items, next } = await readPage(query, columns, 'desc', request);
  return {
    items: items.map((row) => ({ user: summarizeUser(avatars, row), created_at: row.created_at })),
    next,
  };
}
