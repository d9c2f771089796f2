import type { Participation } from '../../generated/types.gen.ts';
import { countOperation } from '../accounts/quotas.ts';
import { type Caller, requireSession } from '../auth/sessions.ts';
import { isLiveMessage } from '../database/erased-rows.ts';
import { announceAfterCommit, transact } from '../database/transaction.ts';
import type { AvatarResources, QuotaResources } from '../resources.ts';
import { readUntil } from '../spaces/activity.ts';
import { describeParticipation } from '../spaces/participations.ts';
import { findSpaceFor } from '../spaces/space-access.ts';
import { listSubject } from '../spaces/subjects.ts';
import { messageNotFound } from './messages.ts';

/**
 * Marks a message and all earlier ones in its space as read by the caller, who participates. Does nothing if they are
 * marked already.
 * @throws DomainError `space_not_found`, `not_a_participant`, `message_not_found`, `too_many_requests`
 */
export async function markRead(
  { engine, avatars, quotas }: AvatarResources & QuotaResources,
  caller: Caller,
  spaceId: string,
  messageId: string,
): Promise<Participation> {
  return transact(engine, async (trx) => {
    await requireSession(trx, caller);
    await countOperation(trx, quotas, caller, 'markRead');
    const space = await findSpaceFor(trx, caller, spaceId, 'markRead');
    const message = await trx
      .selectFrom('messages')
      .innerJoin('participations', 'participations.space_pk', 'messages.space_pk')
      .select(['messages.created_at', readUntil.as('read_until')])
      .where('message_id', '=', messageId)
      .where('messages.space_pk', '=', space.pk)
      .where('user_pk', '=', caller.userPk)
      .where(isLiveMessage)
      .executeTakeFirst();
    if (!message) throw messageNotFound();
    if (message.created_at > message.read_until) {
      const changed_in = await engine.transactionNumber(trx);
      await trx
        .updateTable('participations')
        .set({ read_until: message.created_at, changed_in })
        .where('space_pk', '=', space.pk)
        .where('user_pk', '=', caller.userPk)
        .execute();
      announceAfterCommit(engine, listSubject(caller.userPk));
    }
    return describeParticipation(trx, avatars, caller, space.pk);
  });
}
