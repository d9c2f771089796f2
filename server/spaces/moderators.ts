import { sql } from 'kysely';
import type { Participant } from '../../generated/types.gen.ts';
import { countOperation } from '../accounts/quotas.ts';
import { type Caller, requireSession } from '../auth/sessions.ts';
import type { Database, DatabaseTransaction, Engine } from '../database/engine.ts';
import { announceAfterCommit, transact } from '../database/transaction.ts';
import { DomainError } from '../errors.ts';
import type { AvatarResources, QuotaResources } from '../resources.ts';
import { describeParticipant } from './participations.ts';
import { participantRole, type Role, requireAppointable, requireDismissible } from './rights.ts';
import { findSpace, findSpaceFor } from './space-access.ts';
import { listSubject } from './subjects.ts';

/** Maximum number of moderators of a space. */
const MAX_MODERATORS = 50;

/**
 * Makes a participant a moderator of a space that the caller created. Does nothing if they are one, or the creator.
 * @throws DomainError `space_not_found`, `not_space_creator`, `participant_not_found`, `too_many_moderators`,
 *   `too_many_requests`
 */
export async function appointModerator(
  { engine, avatars, quotas }: AvatarResources & QuotaResources,
  caller: Caller,
  spaceId: string,
  userId: string,
): Promise<Participant> {
  return transact(engine, async (trx) => {
    await requireSession(trx, caller);
    await countOperation(trx, quotas, caller, 'appointModerator');
    const { pk: spacePk } = await findSpaceFor(trx, caller, spaceId, 'manageSpace');
    const participant = await findParticipant(trx, spacePk, userId);
    requireAppointable(participant);
    if (participant.role !== 'participant') return describeParticipant(avatars, participant);
    await assertFewModerators(trx, spacePk);
    await setModerator(engine, trx, { spacePk, userPk: participant.user_pk, isModerator: 1 });
    return describeParticipant(avatars, { ...participant, role: 'moderator' });
  });
}

/**
 * Ends the appointment of a moderator of a space that the caller created, or of the caller. The user remains a participant.
 * Does nothing if the user is not a moderator.
 * @throws DomainError `space_not_found`, `not_space_creator`
 */
export async function dismissModerator(
  engine: Engine,
  caller: Caller,
  spaceId: string,
  userId: string,
): Promise<void> {
  await transact(engine, async (trx) => {
    await requireSession(trx, caller);
    const space = await findSpace(trx, caller, spaceId);
    const user = await findParticipant(trx, space.pk, userId);
    requireDismissible(user, space, caller);
    if (user?.role !== 'moderator') return;
    await setModerator(engine, trx, { spacePk: space.pk, userPk: user.user_pk, isModerator: 0 });
  });
}

async function findParticipant(trx: Database, spacePk: number, userId: string) {
  return trx
    .selectFrom('participations')
    .innerJoin('spaces', 'spaces.pk', 'participations.space_pk')
    .innerJoin('users', 'users.pk', 'participations.user_pk')
    .select(['user_pk', 'joined_at', 'user_id', 'username', 'avatar'])
    .select(participantRole.as('role'))
    .where('space_pk', '=', spacePk)
    .where('user_id', '=', userId)
    .where('left_at', 'is', null)
    .$narrowType<{ role: Role }>()
    .executeTakeFirst();
}

async function assertFewModerators(trx: Database, spacePk: number): Promise<void> {
  const { count } = await trx
    .selectFrom('participations')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('space_pk', '=', spacePk)
    // Not a parameter, because SQLite would not use the partial index.
    .where('is_moderator', '=', sql.lit(1))
    .executeTakeFirstOrThrow();
  if (count < MAX_MODERATORS) return;
  throw new DomainError(
    'too_many_moderators',
    `The space has ${MAX_MODERATORS} moderators. Dismiss one of them first.`,
  );
}

async function setModerator(
  engine: Engine,
  trx: DatabaseTransaction,
  { spacePk, userPk, isModerator }: { spacePk: number; userPk: number; isModerator: 0 | 1 },
): Promise<void> {
  const changed_in = await engine.transactionNumber(trx);
  await trx
    .updateTable('participations')
    .set({ is_moderator: isModerator, changed_in })
    .where('space_pk', '=', spacePk)
    .where('user_pk', '=', userPk)
    .execute();
  announceAfterCommit(engine, listSubject(userPk));
}
