import { chooseUsername, usernameErrorOf } from '../accounts/username-availability.ts';
import { type Caller, requireSession } from '../auth/sessions.ts';
import type { Engine } from '../database/engine.ts';
import { transact } from '../database/transaction.ts';
import { recordProfile } from '../spaces/record-profile.ts';

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
  const { name, key, skeleton } = await chooseUsername(engine.db, username, caller.userPk);
  try {
    await transact(engine, async (trx) => {
      await requireSession(trx, caller);
      const former = await trx
        .selectFrom('users')
        .select('username')
        .where('pk', '=', caller.userPk)
        .executeTakeFirstOrThrow();
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
      if (name !== former.username) await recordProfile(engine, trx, caller.userPk);
    });
  } catch (error) {
    throw usernameErrorOf(engine, error);
  }
  return name;
}
