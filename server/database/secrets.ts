import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import type { Engine } from './engine.ts';
import type { Secrets } from './schema.ts';

const KEY_BYTES = 32;

/** Returns the key that encrypts the cursors of all processes: 32 random bytes. */
export function readCursorKey(engine: Engine): Promise<KeyObject> {
  return readKey(engine, 'cursor key');
}

/**
 * Returns an id of the database, which reveals no secret. Replicas and restored backups have the same id. A database
 * that was filled by an import has another one.
 */
export async function readDatabaseId(engine: Engine): Promise<string> {
  return createHmac('sha256', await readCursorKey(engine))
    .update('database id')
    .digest('hex');
}

/** Returns the key of the HMACs that identify addresses and accounts in rate-limit counters: 32 random bytes. */
export function readRateLimitKey(engine: Engine): Promise<KeyObject> {
  return readKey(engine, 'rate-limit key');
}

/** Returns a key. Creates it in a database that does not have it yet. */
async function readKey({ db }: Engine, name: Secrets['name']): Promise<KeyObject> {
  const query = db.selectFrom('secrets').select('value').where('name', '=', name);
  const existing = await query.executeTakeFirst();
  if (existing) return createSecretKey(existing.value);
  // Another process may create it at the same time.
  await db
    .insertInto('secrets')
    .values({ name, value: randomBytes(KEY_BYTES) })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const { value } = await query.executeTakeFirstOrThrow();
  return createSecretKey(value);
}
