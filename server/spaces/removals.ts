import type { Removal } from '../../generated/types.gen.ts';
import { countOperation } from '../accounts/quotas.ts';
import { type Caller, requireSession } from '../auth/sessions.ts';
import type { AvatarUrls } from '../avatars/store.ts';
import type { Database, Engine } from '../database/engine.ts';
import { isLiveUser } from '../database/erased-rows.ts';
import { readPage } from '../database/keyset-page.ts';
import { transact } from '../database/transaction.ts';
import { DomainError } from '../errors.ts';
import type { Page, PageRequest } from '../pagination.ts';
import type { AvatarResources, QuotaResources } from '../resources.ts';
import { summarizeUser } from '../users/user-summary.ts';
import { countParticipant } from './participations.ts';
import { hasRightIn, participantRole, requireRemovable } from './rights.ts';
import { findSpaceFor } from './space-access.ts';

/**
 * Ends a user's participation in a space that the caller moderates, and prevents the user from joining again. Does
 * nothing if the user has already been removed.
 * @throws DomainError `space_not_found`, `not_space_moderator`, `participant_not_found`, `creator_cannot_leave`,
 *   `not_space_creator`, `too_many_requests`
 */
export async function removeParticipant(
  { engine, avatars, quotas }: AvatarResources & QuotaResources,
  caller: Caller,
  spaceId: string,
  userId: string,
): Promise<Removal> {
  return transact(engine, async (trx) => {
    await requireSession(trx, caller);
    await countOperation(trx, quotas, caller, 'removeParticipant');
    const space = await findSpaceFor(trx, caller, spaceId, 'moderate');
    const participation = await trx
      .selectFrom('participations')
      .innerJoin('spaces', 'spaces.pk', 'participations.space_pk')
      .innerJoin('users', 'users.pk', 'participations.user_pk')
      .select(['user_pk', 'left_at', 'removed_at'])
      .select(participantRole.as('role'))
      .where('space_pk', '=', space.pk)
      .where('user_id', '=', userId)
      .executeTakeFirst();
    if (!participation) {
      throw new DomainError(
        'participant_not_found',
        'There is no such user, or the user has never joined the space.',
      );
    }
    requireRemovable(participation, space);
    const { user_pk: userPk, left_at, removed_at } = participation;
    if (removed_at === null) {
      const now = new Date().toISOString();
      const removal = { removed_at: now, removed_by_pk: caller.userPk };
      const changed_in = await engine.transactionNumber(trx);
      const end = { left_at: now, left_in: changed_in, is_moderator: 0 };
      await trx
        .updateTable('participations')
        .set(left_at === null ? { ...removal, ...end } : removal)
        .where('space_pk', '=', space.pk)
        .where('user_pk', '=', userPk)
        .execute();
      if (left_at === null) {
        await countParticipant(engine, trx, { spacePk: space.pk, userPk, delta: -1, changed_in });
      }
    }
    const row = await selectRemovals(trx, space.pk)
      .where('user_pk', '=', userPk)
      .executeTakeFirstOrThrow();
    return describeRemoval(avatars, row);
  });
}

/**
 * Allows a removed user to join a space that the caller moderates. Does nothing if the user has not been removed.
 * @throws DomainError `space_not_found`, `not_space_moderator`
 */
export async function undoRemoval(
  engine: Engine,
  caller: Caller,
  spaceId: string,
  userId: string,
): Promise<void> {
  await transact(engine, async (trx) => {
    await requireSession(trx, caller);
    const { pk } = await findSpaceFor(trx, caller, spaceId, 'moderate');
    await trx
      .updateTable('participations')
      .set({ removed_at: null, removed_by_pk: null })
      .where('space_pk', '=', pk)
      .where('user_pk', '=', (eb) =>
        eb.selectFrom('users').select('pk').where('user_id', '=', userId),
      )
      // Undoing a removal counts against no quota, so it must not write if there is nothing to undo.
      .where('removed_at', 'is not', null)
      .execute();
  });
}

/**
 * Returns a page of the users removed from a space that the caller moderates, the most recently removed first.
 * @throws DomainError `space_not_found`, `not_space_moderator`
 */
export async function listRemovals(
  { engine, avatars }: AvatarResources,
  caller: Caller,
  spaceId: string,
  request: PageRequest,
): Promise<Page<Removal>> {
  const { pk } = await findSpaceFor(engine.db, caller, spaceId, 'moderate');
  const query = selectRemovals(engine.db, pk).where(hasRightIn(caller, pk, 'moderate'));
  const page = await readPage(query, ['removed_at', 'user_pk'], 'desc', request);
  return { items: page.items.map((row) => describeRemoval(avatars, row)), next: page.next };
}

function selectRemovals(db: Database, spacePk: number) {
  return db
    .selectFrom('participations')
    .innerJoin('users', 'users.pk', 'participations.user_pk')
    .leftJoin('users as removers', (join) =>
      join.onRef('removers.pk', '=', 'removed_by_pk').on(isLiveUser('removers.pk')),
    )
    .select(['user_pk', 'removed_at', 'users.user_id', 'users.username', 'users.avatar'])
    .select([
      'removers.user_id as remover_id',
      'removers.username as remover_name',
      'removers.avatar as remover_avatar',
    ])
    .where('space_pk', '=', spacePk)
    .where('removed_at', 'is not', null)
    .$narrowType<{ removed_at: string }>();
}

type RemovalRow = Awaited<ReturnType<ReturnType<typeof selectRemovals>['execute']>>[number];

function describeRemoval(avatars: AvatarUrls, row: RemovalRow): Removal {
  const { remover_id, remover_name, remover_avatar: avatar } = row;
  const isKnown = remover_id !== null && remover_name !== null;
  return {
    user: summarizeUser(avatars, row),
    removed_at: row.removed_at,
    removed_by: isKnown
      ? summarizeUser(avatars, { user_id: remover_id, username: remover_name, avatar })
      : null,
  };
}
