import type { Message } from '../../generated/types.gen.ts';
import { claimKey, type KeyClaim } from '../accounts/idempotency-keys.ts';
import { countOperation } from '../accounts/quotas.ts';
import { type Caller, requireSession } from '../auth/sessions.ts';
import type { DatabaseTransaction, Engine } from '../database/engine.ts';
import { announceAfterCommit, transact } from '../database/transaction.ts';
import { DomainError } from '../errors.ts';
import { updateWords } from '../message-words/update.ts';
import type { AvatarResources, QuotaResources, ResourceState } from '../resources.ts';
import { requireEditable, requireWritable } from '../spaces/rights.ts';
import { findAnySpace } from '../spaces/space-access.ts';
import { listSubject, spaceSubject } from '../spaces/subjects.ts';
import { countWords } from '../text/word-count.ts';
import { summarizeUser } from '../users/user-summary.ts';
import { addMentions, findMentioned, type MentionedUser } from './mentions.ts';
import { formatTime, recordChanges } from './message-order.ts';
import { assertMessageText } from './message-text.ts';
import { findMessage, messageNotFound, readMessage, stateOf } from './messages.ts';

/**
 * Replaces the text of a message that the caller wrote, if the caller still participates in its space. Leaves the message
 * in its state if it has this text.
 * @param isExpected whether the caller wants to edit a message in this state
 * @param claim the idempotency key of the request, if it has one
 * @throws DomainError `invalid_request`, `message_not_found`, `not_message_author`, `not_a_participant`,
 *   `space_is_read_only`, `precondition_failed`, `too_many_requests`
 */
export async function editMessage(
  { engine, avatars, quotas }: AvatarResources & QuotaResources,
  caller: Caller,
  messageId: string,
  text: string,
  isExpected: (state: ResourceState) => boolean,
  claim: KeyClaim | null,
): Promise<Message> {
  assertMessageText(text);
  return transact(engine, async (trx) => {
    await requireSession(trx, caller);
    await claimKey(trx, caller.userPk, claim, messageId);
    await countOperation(trx, quotas, caller, 'editMessage');
    const found = await findMessage(trx, caller, messageId);
    // Authors find their messages in hidden spaces, too, but only to delete them.
    const space = await findAnySpace(trx, caller, found.spaceId, messageNotFound);
    requireEditable(found, caller);
    requireWritable(space);
    const message = await readMessage(trx, avatars, found.pk, caller);
    if (!isExpected(stateOf(message))) {
      throw new DomainError(
        'precondition_failed',
        'The message has been changed since you read it. Read it again, and repeat your change.',
      );
    }
    if (message.text === text) return message;
    const mentioned = await findMentioned(trx, found.spacePk, text);
    const { ms, transaction } = await recordChanges(engine, trx, [found]);
    const changes = { text, word_count: countWords(text), edited_at: formatTime(ms) };
    await trx
      .updateTable('messages')
      .set({ ...changes, changed_in: transaction })
      .where('pk', '=', found.pk)
      .execute();
    await engine.requestLaterPurge(trx);
    const { created_at } = message;
    const keys = { space_pk: found.spacePk, created_at, message_pk: found.pk };
    await updateWords(trx, [{ space_pk: found.spacePk, created_at, text: message.text }]);
    await replaceMentions(engine, trx, keys, mentioned, transaction);
    announceAfterCommit(engine, spaceSubject(found.spaceId));
    const mentions = mentioned.map((user) => summarizeUser(avatars, user));
    return { ...message, ...changes, mentions };
  });
}

/** Stores whom an edited message mentions, and announces it to the lists of spaces that count other unread mentions. */
async function replaceMentions(
  engine: Engine,
  trx: DatabaseTransaction,
  message: { space_pk: number; created_at: string; message_pk: number },
  mentioned: readonly MentionedUser[],
  changed_in: number,
): Promise<void> {
  const former = await trx
    .deleteFrom('mentions')
    .where('message_pk', '=', message.message_pk)
    .returning('user_pk')
    .execute();
  await addMentions(trx, message, mentioned);
  const before = former.map(({ user_pk }) => user_pk);
  const after = mentioned.map(({ pk }) => pk);
  const changed = [
    ...before.filter((pk) => !after.includes(pk)),
    ...after.filter((pk) => !before.includes(pk)),
  ];
  if (changed.length === 0) return;
  await trx
    .updateTable('participations')
    .set({ changed_in })
    .where('space_pk', '=', message.space_pk)
    .where('user_pk', 'in', changed)
    .where('left_at', 'is', null)
    .execute();
  for (const userPk of changed) announceAfterCommit(engine, listSubject(userPk));
}
