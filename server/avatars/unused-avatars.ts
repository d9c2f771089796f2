import type { Engine } from '../database/engine.ts';
import type { AvatarStore } from './store.ts';

/**
 * Deletes stored avatars that no user has: leftovers of interrupted uploads, and files that a restore has copied back
 * although no user in the restored database has them. Does nothing if the database has no users, because it may have
 * been created by mistake next to the avatars of another one.
 * @returns the number of deleted avatars
 */
export async function removeUnusedAvatars(
  engine: Engine,
  avatars: AvatarStore,
  signal: AbortSignal,
): Promise<number> {
  const { users } = await engine.db
    .selectNoFrom(({ exists, selectFrom }) => exists(selectFrom('users').select('pk')).as('users'))
    .executeTakeFirstOrThrow();
  return users ? avatars.removeUnused((names) => findUsed(engine, names), signal) : 0;
}

/**
 * Returns the names that a user has, or that are recorded as discarded. An upload is recorded before its file exists,
 * and one transaction moves the record to the user. So one statement finds it in one of the tables.
 */
async function findUsed({ db }: Engine, names: string[]): Promise<Set<string>> {
  // SQL has no empty lists.
  if (names.length === 0) return new Set();
  const rows = await db
    .selectFrom('users')
    .select('avatar')
    .where('avatar', 'in', names)
    .unionAll(db.selectFrom('discarded_avatars').select('avatar').where('avatar', 'in', names))
    .execute();
  return new Set(rows.map(({ avatar }) => avatar).filter((avatar) => avatar !== null));
}
