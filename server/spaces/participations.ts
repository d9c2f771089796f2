import { sql } from 'kysely';
import type { Participation } from '../../generated/types.gen.ts';
import { type Caller, requireSession } from '../auth/sessions.ts';
import type { Database, Engine } from '../database/engine.ts';
import { transact } from '../database/transaction.ts';
import { DomainError } from '../errors.ts';
import {
  decodeCursor,
  isTimePosition,
  type Page,
  type PageRequest,
  pageOf,
} from '../pagination.ts';
import { moveSpace } from '../search/documents.ts';
import { describeSpaces, findAnySpace, findSpace, spaceNotFound } from './spaces.ts';

/**
 * Makes the caller take part in a space; does nothing if they do.
 * @param invitationCode what opens a private space
 * @throws DomainError `space_not_found`, also for a private space without its code
 */
export async function joinSpace(
  engine: Engine,
  caller: Caller,
  spaceId: string,
  invitationCode: string | undefined,
  avatarBase: string,
): Promise<Participation> {
  return transact(engine.db, async (trx) => {
    await requireSession(trx, caller);
    const space = await findAnySpace(trx, caller, spaceId);
    if (!space.isParticipant) {
      if (space.visibility === 'private' && space.invitationCode !== invitationCode)
        throw spaceNotFound();
      const joined = { joined_at: new Date().toISOString(), left_at: null };
      await trx
        .insertInto('participations')
        .values({ space: space.id, user: caller.user, ...joined })
        .onConflict((conflict) => conflict.columns(['space', 'user']).doUpdateSet(joined))
        .execute();
      await changeParticipantCount(engine, trx, space.id, 1);
    }
    const { joined_at } = await trx
      .selectFrom('participations')
      .select('joined_at')
      .where('space', '=', space.id)
      .where('user', '=', caller.user)
      .executeTakeFirstOrThrow();
    const described = (await describeSpaces(trx, [space.id], caller, avatarBase)).get(space.id);
    if (!described) throw spaceNotFound();
    return { space: described, joined_at };
  });
}

/**
 * Ends the caller's part in a space; does nothing if they have none. That they had joined is kept.
 * @throws DomainError `space_not_found`, `creator_cannot_leave`
 */
export async function leaveSpace(engine: Engine, caller: Caller, spaceId: string): Promise<void> {
  await transact(engine.db, async (trx) => {
    await requireSession(trx, caller);
    const space = await findSpace(trx, caller, spaceId);
    if (space.creator === caller.user) {
      throw new DomainError(
        'creator_cannot_leave',
        'You created this space, so you cannot leave it. You can delete it.',
      );
    }
    if (!space.isParticipant) return;
    await trx
      .updateTable('participations')
      .set({ left_at: new Date().toISOString() })
      .where('space', '=', space.id)
      .where('user', '=', caller.user)
      .execute();
    await changeParticipantCount(engine, trx, space.id, -1);
  });
}

/** Notes that so many have come or gone, and moves the space in the order of search results if that is enough. */
export async function changeParticipantCount(
  engine: Engine,
  trx: Database,
  space: number,
  by: number,
): Promise<void> {
  await trx
    .updateTable('spaces')
    .set({ participant_count: sql`participant_count + ${by}` })
    .where('id', '=', space)
    .execute();
  await moveSpace(engine, trx, space);
}

/**
 * The spaces that the caller takes part in, the last joined first.
 * @throws DomainError `invalid_cursor`
 */
export async function listParticipations(
  engine: Engine,
  caller: Caller,
  { limit, cursor }: PageRequest,
  avatarBase: string,
): Promise<Page<Participation>> {
  let query = engine.db
    .selectFrom('participations')
    .select(['space', 'joined_at'])
    .where('user', '=', caller.user)
    .where('left_at', 'is', null)
    .orderBy('joined_at', 'desc')
    .orderBy('space', 'desc')
    .limit(limit + 1);
  if (cursor !== undefined) {
    const [joinedAt, space] = decodeCursor<readonly [string, number]>(cursor, isTimePosition);
    query = query.where(sql<boolean>`(joined_at, space) < (${joinedAt}, ${space})`);
  }
  const page = pageOf(await query.execute(), limit, ({ joined_at, space }) => [joined_at, space]);
  const spaces = await describeSpaces(
    engine.db,
    page.items.map(({ space }) => space),
    caller,
    avatarBase,
  );
  return {
    next: page.next,
    items: page.items.flatMap(({ space, joined_at }) => {
      const described = spaces.get(space);
      return described ? [{ space: described, joined_at }] : [];
    }),
  };
}
