import { sql } from 'kysely';
import { formatCount, quotaExceeded } from '../accounts/quotas.ts';
import type { Caller } from '../auth/sessions.ts';
import type { Quotas } from '../config.ts';
import type { DatabaseTransaction } from '../database/engine.ts';
import { isLiveSpace } from '../database/erased-rows.ts';

// Called in the transaction that adds the rows, so that concurrent requests cannot exceed a quota. Each query stops
// counting at the limit, because an import can exceed it by far.

/** @throws DomainError `quota_exceeded` if the caller cannot create another space */
export async function assertSpaceQuota(
  trx: DatabaseTransaction,
  { maxSpaces }: Pick<Quotas, 'maxSpaces'>,
  { userPk }: Caller,
): Promise<void> {
  const { rows } = await sql<{ count: number }>`SELECT count(*) AS count FROM (
    SELECT 1 FROM spaces WHERE creator_pk = ${userPk} AND ${isLiveSpace('pk')} LIMIT ${maxSpaces}
  ) AS counted`.execute(trx);
  if (rows[0]?.count === maxSpaces) {
    throw quotaExceeded(
      `An account can have at most ${formatCount(maxSpaces)} spaces. Delete one before you create another.`,
    );
  }
}

/** @throws DomainError `quota_exceeded` if the caller cannot join another space */
export async function assertParticipationQuota(
  trx: DatabaseTransaction,
  { maxParticipations }: Pick<Quotas, 'maxParticipations'>,
  { userPk }: Caller,
): Promise<void> {
  const { rows } = await sql<{ count: number }>`SELECT count(*) AS count FROM (
    SELECT 1 FROM participations
    WHERE user_pk = ${userPk} AND left_at IS NULL AND ${isLiveSpace('space_pk')} LIMIT ${maxParticipations}
  ) AS counted`.execute(trx);
  if (rows[0]?.count === maxParticipations) {
    throw quotaExceeded(
      `An account can participate in at most ${formatCount(maxParticipations)} spaces, including its own. Leave one first.`,
    );
  }
}

/** @throws DomainError `quota_exceeded` if the caller's spaces have too many tags */
export async function assertTagQuota(
  trx: DatabaseTransaction,
  { maxTags }: Pick<Quotas, 'maxTags'>,
  { userPk }: Caller,
): Promise<void> {
  const { rows } = await sql<{ count: number }>`SELECT count(*) AS count FROM (
    SELECT 1 FROM spaces JOIN space_tags ON space_tags.space_pk = spaces.pk
    WHERE spaces.creator_pk = ${userPk} AND ${isLiveSpace('spaces.pk')} LIMIT ${maxTags + 1}
  ) AS counted`.execute(trx);
  if (Number(rows[0]?.count) > maxTags) {
    throw quotaExceeded(
      `The spaces of an account can have at most ${formatCount(maxTags)} tags in total. Remove tags from other spaces first.`,
    );
  }
}
