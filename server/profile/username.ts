import { parseUsername } from '../accounts/username.ts';
import { assertUsernameAvailable, usernameTaken } from '../accounts/username-availability.ts';
import { type Caller, requireSession } from '../auth/sessions.ts';
import type { Engine } from '../database/engine.ts';
import { transact } from '../database/transaction.ts';

/**
 * Changes the caller's username.
 * @returns the username as stored
 * @throws DomainError `username_taken`, `username_reserved`, `username_invalid`
 */
export async function changeUsername(
  engine: Engine,
  caller: Caller,
  username: string,
): Promise<string> {
  await assertUsernameAvailable(engine.db, username, caller.userPk);
  const { name, key, skeleton } = parseUsername(username);
  try {
    await transact(engine, async (trx) => {
      await requireSession(trx, caller);
      await trx
        .updateTable('users')
        .set({
          username: name,
          username_key: key,
          username_skeleton: skeleton,
          updated_at: new Date().toISOString(),
        })
        .where('pk', '=', caller.userPk)
        .execute();
    });
  } catch (error) {
    throw engine.isUniqueViolation(error) ? usernameTaken() : error;
  }
  return name;
}
