import { sql } from 'kysely';
import type { UserSummary } from '../../generated/types.gen.ts';
import type { Caller } from '../auth/sessions.ts';
import type { Database } from '../database/engine.ts';
import { columnOf } from '../database/prepared.ts';
import type { Page, PageRequest } from '../pagination.ts';
import type { AvatarResources } from '../resources.ts';
import { nextTurn } from '../system/event-loop.ts';
import { isStorable } from '../text/characters.ts';
import { usernameKeyRange } from '../text/username-keys.ts';
import { summarizeUser } from '../users/user-summary.ts';
import { isVisibleTo } from './rights.ts';

/** Number of usernames that a page examines, so that a common beginning costs no more than a rare one. */
const MAX_EXAMINED_USERS = 500;

/** Number of participations that a page examines. With those of one more batch, they take some 10 ms. */
const MAX_EXAMINED_PARTICIPATIONS = 5_000;

/** Number of users whose participations one query reads. */
const BATCH_SIZE = 10;

/**
 * Returns a page of the users whose names begin with a text, among those who share a space with the caller, in the order of
 * their names. A page ends early, and can be empty, after it has examined many other users.
 */
export async function findSharedUsers(
  { engine: { db }, avatars }: AvatarResources,
  caller: Caller,
  beginning: string,
  { limit, position }: PageRequest,
): Promise<Page<UserSummary>> {
  const [first, end] = usernameKeyRange(beginning.trim());
  // No name contains characters that the database would reject.
  if (first === '' || !isStorable(first)) return { items: [], next: null };
  const users = await db
    .selectFrom('users')
    .select(['pk', 'user_id', 'username', 'username_key', 'avatar'])
    .where('username_key', '>=', first)
    .where('username_key', '<', end)
    .$if(position !== undefined, (query) => query.where('username_key', '>', String(position?.[0])))
    .where('suspended_at', 'is', null)
    .orderBy('username_key')
    .limit(MAX_EXAMINED_USERS)
    .execute();
  const isOwn = await readOwnSpaces(db, caller);
  const found: typeof users = [];
  let last: (typeof users)[number] | undefined;
  let examined = 0;
  for (let i = 0; i < users.length; i += BATCH_SIZE) {
    if (found.length > limit || examined > MAX_EXAMINED_PARTICIPATIONS) break;
    await nextTurn();
    const batch = users.slice(i, i + BATCH_SIZE);
    const participations = await readParticipations(db, columnOf(batch, 'pk'));
    const sharing = new Set(
      participations.filter(({ space_pk }) => isOwn.has(space_pk)).map(({ user_pk }) => user_pk),
    );
    found.push(...batch.filter(({ pk }) => sharing.has(pk) && pk !== caller.userPk));
    examined += participations.length;
    last = batch.at(-1);
  }
  const items = found.slice(0, limit);
  const isComplete = last === users.at(-1) && users.length < MAX_EXAMINED_USERS;
  const endOfPage = found.length > limit ? items.at(-1) : isComplete ? undefined : last;
  return {
    items: items.map((user) => summarizeUser(avatars, user)),
    next: endOfPage ? [endOfPage.username_key] : null,
  };
}

/** Returns the keys of the spaces in which the caller participates and which the caller can see. */
async function readOwnSpaces(db: Database, caller: Caller): Promise<Set<number>> {
  const rows = await db
    .selectFrom('participations')
    .select('space_pk')
    .where('user_pk', '=', caller.userPk)
    .where('left_at', 'is', null)
    .where(isVisibleTo(caller, sql.ref('participations.space_pk')))
    .execute();
  return new Set(columnOf(rows, 'space_pk'));
}

function readParticipations(db: Database, userPks: readonly number[]) {
  return db
    .selectFrom('participations')
    .select(['user_pk', 'space_pk'])
    .where('user_pk', 'in', userPks)
    .where('left_at', 'is', null)
    .execute();
}
