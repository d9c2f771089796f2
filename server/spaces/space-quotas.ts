import { type RawBuilder, sql } from 'kysely';
import { quotaExceeded } from '../accounts/quotas.ts';
import type { Caller } from '../auth/sessions.ts';
import type { Quotas } from '../config.ts';
import type { DatabaseTransaction } from '../database/engine.ts';
import { isLiveSpace } from '../database/erased-rows.ts';
import { quantity } from '../text/quantity.ts';

// Called in the transaction that adds the rows, so that concurrent requests cannot exceed a quota. On PostgreSQL, rows
// that a transaction reads can conflict with those that others write, so the joined rows are counted only if a count
// from one index does not suffice.

/**
 * Returns how many spaces the caller has.
 * @throws DomainError `quota_exceeded` if the caller cannot create another one
 */
export async function assertSpaceQuota(
  trx: DatabaseTransaction,
  { maxSpaces }: Pick<Quotas, 'maxSpaces'>,
  { userPk }: Caller,
): Promise<number> {
  const spaces = sql`FROM spaces WHERE creator_pk = ${userPk} AND ${isLiveSpace('pk')}`;
  const count = await countUpTo(trx, maxSpaces, spaces);
  if (count === maxSpaces) {
    throw quotaExceeded(
      `An account can have at most ${quantity(maxSpaces, 'space')}. Delete one before you create another.`,
    );
  }
  return count;
}

/**
 * Does not count spaces of suspended creators, because the caller can neither see nor leave them.
 * @throws DomainError `quota_exceeded` if the caller cannot join another space
 */
export async function assertParticipationQuota(
  trx: DatabaseTransaction,
  { maxParticipations }: Pick<Quotas, 'maxParticipations'>,
  { userPk }: Caller,
): Promise<void> {
  const all = sql`FROM participations WHERE user_pk = ${userPk}`;
  if ((await countUpTo(trx, maxParticipations, all)) < maxParticipations) return;
  const participations = sql`FROM participations
    JOIN spaces ON spaces.pk = participations.space_pk
    JOIN users AS creators ON creators.pk = spaces.creator_pk
    WHERE participations.user_pk = ${userPk} AND participations.left_at IS NULL
      AND creators.suspended_at IS NULL AND ${isLiveSpace('spaces.pk')}`;
  if ((await countUpTo(trx, maxParticipations, participations)) === maxParticipations) {
    throw quotaExceeded(
      `An account can participate in at most ${quantity(maxParticipations, 'space')}, including its own. Leave one first.`,
    );
  }
}

/** The contract's limit for one space. */
const MAX_TAGS_PER_SPACE = 10;

/**
 * @param added      number of tags that the transaction will add
 * @param spaceCount number of the caller's spaces, if it is known
 * @throws DomainError `quota_exceeded` if the caller's spaces have too many tags, or would then
 */
export async function assertTagQuota(
  trx: DatabaseTransaction,
  { maxTags }: Pick<Quotas, 'maxTags'>,
  { userPk }: Caller,
  added = 0,
  spaceCount?: number,
): Promise<void> {
  // Includes spaces that are being deleted, which can only cause an exact count.
  const spaces = sql`FROM spaces WHERE creator_pk = ${userPk}`;
  const limit = Math.floor((maxTags - added) / MAX_TAGS_PER_SPACE) + 1;
  const count = async () => spaceCount ?? (await countUpTo(trx, limit, spaces));
  if (added <= maxTags && (await count()) < limit) return;
  const tags = sql`FROM spaces JOIN space_tags ON space_tags.space_pk = spaces.pk
    WHERE spaces.creator_pk = ${userPk} AND ${isLiveSpace('spaces.pk')}`;
  const max = maxTags - added;
  if (max < 0 || (await countUpTo(trx, max + 1, tags)) > max) {
    throw quotaExceeded(
      `The spaces of an account can have at most ${quantity(maxTags, 'tag')} in total. Remove tags from other spaces first.`,
    );
  }
}

/** Counts rows. Stops at `limit`, because an import can exceed a quota by far. */
async function countUpTo(
  trx: DatabaseTransaction,
  limit: number,
  source: RawBuilder<unknown>,
): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    SELECT count(*) AS count FROM (SELECT 1 ${source} LIMIT ${limit}) AS counted`.execute(trx);
  return rows[0]?.count ?? 0;
}
