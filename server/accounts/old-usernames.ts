import type { Database } from '../database/engine.ts';
import { isLiveUser } from '../database/erased-rows.ts';
import { DomainError } from '../errors.ts';
import { usernameSkeleton } from '../text/username-keys.ts';
import { isReserved } from './reserved-usernames.ts';
import { parseUsername } from './username.ts';

/** A username that its owner could not choose today. */
export interface OldUsername {
  userId: string;
  username: string;
  /** The broken rule, for the operator. */
  reason: string;
}

/** Returns all usernames that their owners chose before the current rules, and that break them. They stay valid. */
export async function* findOldUsernames(db: Database): AsyncIterable<OldUsername> {
  const rows = db
    .selectFrom('users')
    .select(['user_id', 'username', 'username_skeleton'])
    .where(isLiveUser('pk'))
    .orderBy('pk')
    .stream();
  for await (const row of rows) {
    const reason = explainOldUsername(row);
    if (reason !== undefined) yield { userId: row.user_id, username: row.username, reason };
  }
}

/** Returns why a stored username could not be chosen today; undefined if it could. */
export function explainOldUsername({
  username,
  username_skeleton,
}: {
  username: string;
  username_skeleton: string;
}): string | undefined {
  if (username_skeleton !== usernameSkeleton(username)) return 'It looks like another username.';
  if (isReserved(username)) return 'It is reserved.';
  try {
    parseUsername(username);
    return undefined;
  } catch (error) {
    if (error instanceof DomainError) return error.message;
    throw error;
  }
}
