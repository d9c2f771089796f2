import { createHash } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';
import type { Database, DatabaseTransaction, Engine } from '../database/engine.ts';
import type { NewRow } from '../database/schema.ts';
import { DomainError } from '../errors.ts';

/** Minimum time that a key is kept. */
const LIFETIME_MS = 24 * 3_600_000;

/** Number of keys that one statement deletes, so that other writers do not wait long. */
const ROWS_PER_STATEMENT = 500;

/** A request to do something once, with a key that its client has chosen. */
export interface KeyedRequest {
  key: string;
  operation: string;
  /** The parameters of the path and the fields of the body. */
  input: object;
}

/** A keyed request as it is stored. */
export interface KeyClaim {
  keyHash: string;
  requestHash: string;
}

interface Write<T> {
  /** Creates or changes something, and calls `claimKey` in the transaction. */
  run(claim: KeyClaim | null): Promise<T>;
  /** Returns what an earlier request has created or changed, by its public id. */
  read(targetId: string): Promise<T>;
}

/**
 * Runs a write unless an earlier request with the same key has. Then returns what that one created or changed.
 * @param userPk the sender of the request
 * @param request null for a request without a key
 * @throws DomainError `idempotency_key_reused`, `idempotency_key_in_use`
 */
export type WriteOnce = <T>(
  userPk: number,
  request: KeyedRequest | null,
  write: Write<T>,
) => Promise<T>;

/** Returns a `WriteOnce`. Requests of other processes with the same key wait for each other, those of this one fail. */
export function writeOnceOn(engine: Engine): WriteOnce {
  const running = new Set<string>();

  return async (userPk, request, { run, read }) => {
    if (request === null) return run(null);
    const claim = claimOf(request);
    const key = `${userPk} ${claim.keyHash}`;
    if (running.has(key)) {
      throw new DomainError(
        'idempotency_key_in_use',
        'Another request with this Idempotency-Key is still running. Repeat the request in a second.',
      );
    }
    running.add(key);
    try {
      const targetId = await findTarget(engine.db, userPk, claim);
      if (targetId !== undefined) return await read(targetId);
      try {
        return await run(claim);
      } catch (error) {
        if (!engine.isUniqueViolation(error)) throw error;
        // Perhaps another process has claimed the key meanwhile.
        const otherId = await findTarget(engine.db, userPk, claim);
        if (otherId === undefined) throw error;
        return await read(otherId);
      }
    } finally {
      running.delete(key);
    }
  };
}

/** The hash of the request contains the key, so that nobody can guess the text of a deleted message by its hash. */
function claimOf({ key, operation, input }: KeyedRequest): KeyClaim {
  const fields = Object.entries(input).sort(([a], [b]) => (a < b ? -1 : 1));
  return { keyHash: hash(key), requestHash: hash(JSON.stringify([key, operation, fields])) };
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** @throws DomainError `idempotency_key_reused` */
async function findTarget(
  db: Database,
  userPk: number,
  { keyHash, requestHash }: KeyClaim,
): Promise<string | undefined> {
  const row = await db
    .selectFrom('idempotency_keys')
    .select(['request_hash', 'created_id'])
    .where('user_pk', '=', userPk)
    .where('key_hash', '=', keyHash)
    .executeTakeFirst();
  if (row && row.request_hash !== requestHash) {
    throw new DomainError(
      'idempotency_key_reused',
      'You have used this Idempotency-Key with another body or for another operation. Choose a new key for each request that is not a repetition.',
      [{ in: 'header', pointer: 'Idempotency-Key', message: 'belongs to another request' }],
    );
  }
  return row?.created_id;
}

/**
 * Stores the key of a request in the transaction that creates or changes something. Call it before the quotas are counted, so that
 * a repetition does not exceed them. A unique violation means that another request has claimed the key.
 * @param claim null for a request without a key
 */
export async function claimKey(
  trx: DatabaseTransaction,
  userPk: number,
  claim: KeyClaim | null,
  targetId: string,
): Promise<void> {
  if (claim === null) return;
  await trx
    .insertInto('idempotency_keys')
    .values({
      user_pk: userPk,
      key_hash: claim.keyHash,
      request_hash: claim.requestHash,
      created_id: targetId,
      created_at: new Date().toISOString(),
    } satisfies NewRow<'idempotency_keys'>)
    .execute();
}

/** Deletes expired keys. */
export async function deleteExpiredKeys({ db }: Engine): Promise<void> {
  const earliest = new Date(Date.now() - LIFETIME_MS).toISOString();
  while (await deleteKeyBatch(db, sql`created_at <= ${earliest}`));
}

/**
 * Deletes a batch of the keys that meet a condition.
 * @returns false if there are none
 */
export async function deleteKeyBatch(
  db: Database,
  condition: RawBuilder<unknown>,
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    DELETE FROM idempotency_keys WHERE (user_pk, key_hash) IN (
      SELECT user_pk, key_hash FROM idempotency_keys
      WHERE ${condition} LIMIT ${sql.lit(ROWS_PER_STATEMENT)}
    )`.execute(db);
  return numAffectedRows !== 0n;
}
