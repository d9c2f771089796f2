import type { Engine } from './engine.ts';

/** Returns the key that encrypts the cursors of all processes: 32 random bytes. */
export async function readCursorKey({ db }: Engine): Promise<Uint8Array> {
  const { value } = await db
    .selectFrom('secrets')
    .select('value')
    .where('name', '=', 'cursor key')
    .executeTakeFirstOrThrow();
  return value;
}
