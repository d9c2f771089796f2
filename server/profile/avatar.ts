import { type Caller, requireSession } from '../auth/sessions.ts';
import { discardPicture } from '../avatars/discarded-avatars.ts';
import { renderAvatar } from '../avatars/rendering.ts';
import { type AvatarStore, avatarUrl, newAvatarName } from '../avatars/store.ts';
import type { DatabaseTransaction, Engine } from '../database/engine.ts';
import { transact } from '../database/transaction.ts';

/** How long an upload may take from being stored to being claimed, in milliseconds. */
const CLAIM_TIME = 60 * 60 * 1000;

/**
 * Makes the image the caller's picture, and answers with its URL. The file is noted as discarded before it exists and
 * claimed with the change, so that whatever fails in between leaves no file that nobody knows of.
 * @param image a JPEG, PNG, WebP or GIF file
 * @throws DomainError `avatar_type_unsupported`, `avatar_undecodable`
 */
export async function changePicture(
  engine: Engine,
  avatars: AvatarStore,
  caller: Caller,
  image: Uint8Array,
  avatarBase: string,
): Promise<string> {
  const bytes = await renderAvatar(image);
  const picture = newAvatarName();
  await engine.db
    .insertInto('discarded_avatars')
    .values({ avatar: picture, remove_after: new Date(Date.now() + CLAIM_TIME).toISOString() })
    .execute();
  await avatars.put(picture, bytes);
  try {
    await transact(engine.db, async (trx) => {
      await requireSession(trx, caller);
      await trx.deleteFrom('discarded_avatars').where('avatar', '=', picture).execute();
      await replacePicture(trx, caller, picture);
    });
  } catch (error) {
    // The account may be gone by now: its picture need not wait.
    await engine.db
      .updateTable('discarded_avatars')
      .set({ remove_after: new Date().toISOString() })
      .where('avatar', '=', picture)
      .execute();
    throw error;
  }
  return avatarUrl(avatarBase, picture);
}

/** Takes the caller back to the default picture, and answers with its URL. */
export async function removePicture(
  engine: Engine,
  caller: Caller,
  avatarBase: string,
): Promise<string> {
  await transact(engine.db, async (trx) => {
    await requireSession(trx, caller);
    await replacePicture(trx, caller, null);
  });
  return avatarUrl(avatarBase, null);
}

async function replacePicture(
  trx: DatabaseTransaction,
  { userPk }: Caller,
  picture: string | null,
): Promise<void> {
  const old = await trx
    .selectFrom('users')
    .select('avatar')
    .where('pk', '=', userPk)
    .executeTakeFirst();
  if (!old || old.avatar === picture) return;
  if (old.avatar !== null) await discardPicture(trx, old.avatar);
  await trx
    .updateTable('users')
    .set({ avatar: picture, updated_at: new Date().toISOString() })
    .where('pk', '=', userPk)
    .execute();
}
