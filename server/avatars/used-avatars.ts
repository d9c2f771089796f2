import type { Engine } from '../database/engine.ts';

/** Number of rows of one query. */
const BATCH_SIZE = 10_000;

/** Returns the names of the avatars of all users. Reads the database in several queries. */
export async function listAvatars({ db }: Pick<Engine, 'db'>): Promise<string[]> {
  const names: string[] = [];
  while (true) {
    const rows = await db
      .selectFrom('users')
      .select('avatar')
      .where('avatar', '>', names.at(-1) ?? '')
      .orderBy('avatar')
      .limit(BATCH_SIZE)
      .execute();
    for (const { avatar } of rows) if (avatar !== null) names.push(avatar);
    if (rows.length < BATCH_SIZE) return names;
  }
}
