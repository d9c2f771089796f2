import type { Engine } from './engine.ts';

/**
 * Checks that the database can be read. It need not be writable: on a full disk, searches still work.
 * @throws the error of the database
 */
export async function pingDatabase(engine: Pick<Engine, 'db'>): Promise<void> {
  await engine.db.selectFrom('users').select('pk').limit(1).execute();
}
