import { sql } from 'kysely';
import type { Appreciation, Message } from '../../generated/types.gen.ts';
import { countOperation } from '../accounts/quotas.ts';
import { type Caller, requireSession } from '../auth/sessions.ts';
import type { DatabaseTransaction, Engine } from '../database/engine.ts';
import { isLiveMessage, isLiveUser } from '../database/erased-rows.ts';
import { readPage } from '../database/keyset-page.ts';
import { announceAfterCommit, transact } from '../database/transaction.ts';
import type { Page, PageRequest } from '../pagination.ts';
import type { AvatarResources, QuotaResources } from '../resources.ts';
import { isVisibleTo, requireAppreciable } from '../spaces/rights.ts';
import { appreciationsSubject } from '../spaces/subjects.ts';
import { summarizeUser } from '../users/user-summary.ts';
import { recordChanges } from './message-order.ts';
import { type FoundMessage, findMessage, messageNotFound, readMessage } from './messages.ts';

/**
 * Adds the caller's appreciation to someone else's message. Does nothing if it exists.
 * @throws DomainError `message_not_found`, `own_message`, `too_many_requests`
 */
export async function appreciate(
  { engine, avatars, quotas }: AvatarResources & QuotaResources,
  caller: Caller,
  messageId: string,
): Promise<Message> {
  return transact(engine, async (trx) => {
    await requireSession(trx, caller);
    await countOperation(trx, quotas, caller, 'appreciateMessage');
    const message = await findMessage(trx, caller, messageId);
    requireAppreciable(message, caller);
    const { numInsertedOrUpdatedRows } = await trx
      .insertInto('appreciations')
      .values({
        message_pk: message.pk,
        user_pk: caller.userPk,
        author_pk: message.authorPk,
        created_at: new Date().toISOString(),
      })
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirst();
    if (numInsertedOrUpdatedRows) await recordAndAnnounce(engine, trx, message);
    return readMessage(trx, avatars, message.pk, caller);
  });
}

/**
 * Withdraws the caller's appreciation. Does nothing if there is none.
 * @throws DomainError `message_not_found`
 */
export async function withdrawAppreciation(
  { engine, avatars }: AvatarResources,
  caller: Caller,
  messageId: string,
): Promise<Message> {
  return transact(engine, async (trx) => {
    await requireSession(trx, caller);
    const message = await findMessage(trx, caller, messageId);
    const { numDeletedRows } = await trx
      .deleteFrom('appreciations')
      .where('message_pk', '=', message.pk)
      .where('user_pk', '=', caller.userPk)
      .executeTakeFirst();
    if (numDeletedRows) await recordAndAnnounce(engine, trx, message);
    return readMessage(trx, avatars, message.pk, caller);
  });
}

/**
 * Returns a page of the users who appreciate a message that the caller may read, the latest first.
 * @throws DomainError `message_not_found`
 */
export async function listAppreciations(
  { engine, avatars }: AvatarResources,
  caller: Caller,
  messageId: string,
  request: PageRequest,
): Promise<Page<Appreciation>> {
  const message = await engine.db
    .selectFrom('messages')
    .select(['pk', 'space_pk'])
    .where('message_id', '=', messageId)
    .where(isLiveMessage)
    .where(isVisibleTo(caller, sql.ref('messages.space_pk')))
    .executeTakeFirst();
  if (!message) throw messageNotFound();
  const query = engine.db
    .selectFrom('appreciations')
    .innerJoin('users', 'users.pk', 'appreciations.user_pk')
    .select(['user_pk', 'appreciations.created_at', 'user_id', 'username', 'avatar'])
    .where('message_pk', '=', message.pk)
    .where(isLiveUser('user_pk'))
    .where(isVisibleTo(caller, message.space_pk));
  const columns = ['appreciations.created_at', 'appreciations.user_pk'] as const;
  const page = await readPage(query, columns, 'desc', request);
  const items = page.items.map((row) => ({
    user: summarizeUser(avatars, row),
    created_at: row.created_at,
  }));
  return { items, next: page.next };
}

async function recordAndAnnounce(
  engine: Engine,
  trx: DatabaseTransaction,
  message: FoundMessage,
): Promise<void> {
  await recordChanges(engine, trx, [message]);
  announceAfterCommit(engine, appreciationsSubject(message.spaceId));
}
