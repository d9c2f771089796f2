import type { Engine } from './engine.ts';

/** Returns the key that seals the cursors of all processes: 32 random bytes. Exports do not contain it. */
export async function readCursorKey({ db }: Engine): Promise<Uint8Array> {
  const { value } = await db
    .selectFrom('secrets')
    .select('value')
    .where('name', '=', 'cursor key')
    .executeTakeFirstOrThrow();
  return value;
}
