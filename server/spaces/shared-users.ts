import { sql } from 'kysely';
import type { UserSummary } from '../../generated/types.gen.ts';
import type { Caller } from '../auth/sessions.ts';
import type { Page, PageRequest } from '../pagination.ts';
import type { AvatarResources } from '../resources.ts';
import { isStorable } from '../text/characters.ts';
import { usernameKey } from '../text/username-keys.ts';
import { summarizeUser } from '../users/user-summary.ts';
import { isVisibleTo } from './rights.ts';

/** Number of usernames that a page examines, so that a common beginning costs no more than a rare one. */
const MAX_EXAMINED_USERS = 500;

/** Greater than all characters of usernames. */
const LAST_CHARACTER = '\u{10FFFF}';

/**
 * Returns a page of the users whose names begin with a text, among those who share a space with the caller, in the order of
 * their names. A page ends early, and can be empty, after it has examined many other users.
 */
export async function findSharedUsers(
  { engine, avatars }: AvatarResources,
  caller: Caller,
  beginning: string,
  { limit, position }: PageRequest,
): Promise<Page<UserSummary>> {
  const key = usernameKey(beginning.trim());
  // No name contains characters that the database would reject.
  if (key === '' || !isStorable(key)) return { items: [], next: null };
  const users = await engine.db
    .selectFrom('users')
    .select(['pk', 'user_id', 'username', 'username_key', 'avatar'])
    .select(sharesSpaceWith(caller).as('is_shared'))
    .where('username_key', '>=', key)
    .where('username_key', '<', key + LAST_CHARACTER)
    .$if(position !== undefined, (query) => query.where('username_key', '>', String(position?.[0])))
    .where('suspended_at', 'is', null)
    .orderBy('username_key')
    .limit(MAX_EXAMINED_USERS)
    .execute();
  const shared = users.filter(({ pk, is_shared }) => is_shared && pk !== caller.userPk);
  const items = shared.slice(0, limit);
  const hasMore = shared.length > limit || users.length === MAX_EXAMINED_USERS;
  const last = shared.length > limit ? items.at(-1) : users.at(-1);
  return {
    items: items.map((user) => summarizeUser(avatars, user)),
    next: hasMore && last ? [last.username_key] : null,
  };
}

/** SQL condition on `users`: the user and a caller are participants of the same space, which the caller can see. */
function sharesSpaceWith(caller: Caller) {
  return sql<boolean>`EXISTS (
    SELECT 1 FROM participations AS theirs
    JOIN participations AS own ON own.space_pk = theirs.space_pk
    WHERE theirs.user_pk = users.pk AND theirs.left_at IS NULL
      AND own.user_pk = ${caller.userPk} AND own.left_at IS NULL
      AND ${isVisibleTo(caller, sql.ref('own.space_pk'))}
  )`;
}
