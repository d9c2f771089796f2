import { type Caller, requireSession } from '../auth/sessions.ts';
import { discardAvatar } from '../avatars/discarded-avatars.ts';
import { renderAvatar } from '../avatars/rendering.ts';
import { type AvatarStore, avatarUrl, newAvatarName } from '../avatars/store.ts';
import type { DatabaseTransaction, Engine } from '../database/engine.ts';
import { transact } from '../database/transaction.ts';

/** How long an upload may take from being stored to being claimed, in milliseconds. */
const CLAIM_TIME = 60 * 60 * 1000;

/**
 * Makes the image the caller's avatar, and answers with its URL. The file is noted as discarded before it exists and
 * claimed with the change, so that whatever fails in between leaves no file that nobody knows of.
 * @param image a JPEG, PNG, WebP or GIF file
 * @throws DomainError `avatar_type_unsupported`, `avatar_undecodable`
 */
export async function changeAvatar(
  engine: Engine,
  avatars: AvatarStore,
  caller: Caller,
  image: Uint8Array,
  avatarBase: string,
): Promise<string> {
  const bytes = await renderAvatar(image);
  const avatar = newAvatarName();
  await engine.db
    .insertInto('discarded_avatars')
    .values({ avatar, remove_after: new Date(Date.now() + CLAIM_TIME).toISOString() })
    .execute();
  await avatars.put(avatar, bytes);
  try {
    await transact(engine.db, async (trx) => {
      await requireSession(trx, caller);
      await trx.deleteFrom('discarded_avatars').where('avatar', '=', avatar).execute();
      await replaceAvatar(trx, caller, avatar);
    });
  } catch (error) {
    // The account may be gone by now: its avatar need not wait.
    await engine.db
      .updateTable('discarded_avatars')
      .set({ remove_after: new Date().toISOString() })
      .where('avatar', '=', avatar)
      .execute();
    throw error;
  }
  return avatarUrl(avatarBase, avatar);
}

/** Takes the caller back to the default avatar, and answers with its URL. */
export async function removeAvatar(
  engine: Engine,
  caller: Caller,
  avatarBase: string,
): Promise<string> {
  await transact(engine.db, async (trx) => {
    await requireSession(trx, caller);
    await replaceAvatar(trx, caller, null);
  });
  return avatarUrl(avatarBase, null);
}

async function replaceAvatar(
  trx: DatabaseTransaction,
  { userPk }: Caller,
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
}
