import type { Database, Engine } from '../database/engine.ts';
import { DomainError } from '../errors.ts';
import { usernameKey, usernameSkeleton } from '../text/username-keys.ts';
import { assertNotReserved } from './reserved-usernames.ts';
import { parseUsername, type Username } from './username.ts';

/**
 * Parses a username that a user chooses. Rejects one that is reserved, taken, or looks like a taken one.
 *
 * Concurrent requests can both pass. The unique indexes then reject one of them, see `usernameErrorOf`.
 * @param userPk the user who changes the name; their current name counts as available
 * @throws DomainError `username_taken`, `username_reserved`, `username_invalid`
 */
export async function chooseUsername(
  db: Database,
  text: string,
  userPk?: number,
): Promise<Username> {
  // First, so that a look-alike in mixed scripts is reported as taken rather than as malformed.
  await assertUsernameAvailable(db, text, userPk);
  return parseUsername(text);
}

/** Returns the error to throw if a chosen username could not be written: another request may have taken it meanwhile. */
export function usernameErrorOf(engine: Engine, error: unknown): unknown {
  return engine.isUniqueViolation(error) ? usernameTaken() : error;
}

/**
 * Rejects a username that is reserved, taken, or looks like a taken one.
 * @param userPk see `chooseUsername`
 * @throws DomainError `username_taken`, `username_reserved`
 */
export async function assertUsernameAvailable(
  db: Database,
  text: string,
  userPk?: number,
): Promise<void> {
  assertNotReserved(text);
  const skeleton = usernameSkeleton(text);
  const owners = await db
    .selectFrom('users')
    .select('pk')
    .where((where) =>
      where.or([
        where('username_key', '=', usernameKey(text)),
        where('username_skeleton', '=', skeleton),
        // See `distinctSkeleton`.
        where.and([
          where('username_skeleton', '>', `${skeleton}#`),
          where('username_skeleton', '<', `${skeleton}$`),
        ]),
      ]),
    )
    .execute();
  if (owners.some(({ pk }) => pk !== userPk)) throw usernameTaken();
}

function usernameTaken(): DomainError {
  return new DomainError(
    'username_taken',
    'That username is taken or looks like one that is. Choose another.',
    [{ pointer: '/username', message: 'is taken' }],
  );
}
