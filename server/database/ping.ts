import type { Engine } from './engine.ts';

/**
 * Checks that the database can be read. Does not check writes, because searches still work on a full disk.
 * @throws the database error
 */
export async function pingDatabase(engine: Pick<Engine, 'db'>): Promise<void> {
  await engine.db.selectFrom('users').select('pk').limit(1).execute();
}
