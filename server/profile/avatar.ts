import { findAccount } from '../accounts/account.ts';
import { type Caller, requireSession } from '../auth/sessions.ts';
import { discardAvatar } from '../avatars/discarded-avatars.ts';
import { renderAvatar } from '../avatars/rendering.ts';
import { type AvatarStore, newAvatarName } from '../avatars/store.ts';
import type { DatabaseTransaction, Engine } from '../database/engine.ts';
import { transact } from '../database/transaction.ts';
import type { AvatarResources } from '../resources.ts';
import { recordProfile } from '../spaces/record-profile.ts';
import { overloaded } from '../system/concurrency.ts';

/**
 * Maximum time between recording the new avatar's name and committing the change. If it takes longer, the file is
 * removed.
 */
const CHANGE_TIMEOUT_MS = 60 * 60 * 1000;

/**
 * Renders an uploaded file as the caller's avatar.
 *
 * The name is recorded as discarded before the file exists. The transaction that sets the avatar deletes this record.
 * After a failure in between, housekeeping removes the file.
 * @param file a JPEG, PNG, WebP or GIF
 * @returns the avatar's URL
 * @throws DomainError `avatar_type_unsupported`, `avatar_undecodable`; `unavailable` if too many avatars wait to be
 *   rendered, or if the change took more than an hour
 */
export async function changeAvatar(
  { engine, avatars }: { engine: Engine; avatars: AvatarStore },
  caller: Caller,
  file: Uint8Array,
): Promise<string> {
  const bytes = await renderAvatar(file);
  const avatar = newAvatarName();
  await discardAvatar(engine.db, avatar, new Date(Date.now() + CHANGE_TIMEOUT_MS));
  await avatars.put(avatar, bytes);
  try {
    await transact(engine, async (trx) => {
      await requireSession(trx, caller);
      const { numDeletedRows } = await trx
        .deleteFrom('discarded_avatars')
        .where('avatar', '=', avatar)
        .where('remove_after', '>', new Date().toISOString())
        .executeTakeFirst();
      // The machine may have been suspended for hours. Housekeeping then removes the file, or has removed it.
      if (numDeletedRows === 0n) throw overloaded();
      await replaceAvatar(engine, trx, caller, avatar);
    });
  } catch (error) {
    // For example, the account has been deleted meanwhile. Housekeeping can remove the new file now.
    await engine.db
      .updateTable('discarded_avatars')
      .set({ remove_after: new Date().toISOString() })
      .where('avatar', '=', avatar)
      .execute()
      // Housekeeping then removes it later.
      .catch(() => {});
    throw error;
  }
  return avatars.url(avatar);
}

/** Restores the caller's default avatar and returns its URL. */
export async function removeAvatar(
  { engine, avatars }: AvatarResources,
  caller: Caller,
): Promise<string> {
  await transact(engine, async (trx) => {
    await requireSession(trx, caller);
    await replaceAvatar(engine, trx, caller, null);
  });
  return avatars.url(null);
}

/**
 * Restores the default avatar of any account. For the operator. Call `removeDiscardedAvatars` afterwards.
 * @param account an email address or a user id
 * @returns whether the account exists
 */
export async function removeAvatarOf(engine: Engine, account: string): Promise<boolean> {
  return transact(engine, async (trx) => {
    const userPk = await findAccount(trx, account);
    if (userPk === undefined) return false;
    await replaceAvatar(engine, trx, { userPk }, null);
    return true;
  });
}

async function replaceAvatar(
  engine: Engine,
  trx: DatabaseTransaction,
  { userPk }: Pick<Caller, 'userPk'>,
  avatar: string | null,
): Promise<void> {
  const old = await trx
    .selectFrom('users')
    .select('avatar')
    .where('pk', '=', userPk)
    .executeTakeFirst();
  if (!old || old.avatar === avatar) return;
  if (old.avatar !== null) await discardAvatar(trx, old.avatar);
  await trx
    .updateTable('users')
    .set({ avatar, updated_at: new Date().toISOString() })
    .where('pk', '=', userPk)
    .execute();
  await recordProfile(engine, trx, userPk);
}
