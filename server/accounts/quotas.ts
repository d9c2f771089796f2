import { type RawBuilder, sql } from 'kysely';
import {
  type Action,
  COUNTED_OPERATIONS,
  type CountedOperation,
} from '../../generated/counted-operations.gen.ts';
import type { Quotas } from '../config.ts';
import type { DatabaseTransaction } from '../database/engine.ts';
import { prepare } from '../database/prepared.ts';
import type { ActionCounts } from '../database/schema.ts';
import { DomainError, RateExceededError } from '../errors.ts';
import { quantity } from '../text/quantity.ts';

const HOUR_SECONDS = 3_600;
const DAY_SECONDS = 24 * HOUR_SECONDS;

/** Describes a limit, for error messages. */
const DESCRIBE_LIMIT: Readonly<Record<Action, (limit: number) => string>> = {
  space: (limit) => `An account can create or update at most ${quantity(limit, 'space')}`,
  message: (limit) => `An account can send or edit at most ${quantity(limit, 'message')}`,
  change: (limit) => `An account can make at most ${quantity(limit, 'change')}`,
};

/**
 * Counts an operation in the transaction that performs it. If the transaction is rolled back, it does not count.
 *
 * The counters are independent of the created rows, so deleting these does not make room for more. A period begins with
 * the first action after the previous period.
 * @throws RateExceededError
 */
export async function countOperation(
  trx: DatabaseTransaction,
  { rates }: Pick<Quotas, 'rates'>,
  userPk: number,
  operation: CountedOperation,
): Promise<void> {
  if (rates === null) return;
  const action = COUNTED_OPERATIONS[operation];
  const now = Date.now();
  const time = new Date(now).toISOString();
  const secondsBefore = (seconds: number) => new Date(now - seconds * 1000).toISOString();
  const [counts] = (await countAction(trx, {
    userPk,
    action,
    time,
    hourBefore: secondsBefore(HOUR_SECONDS),
    dayBefore: secondsBefore(DAY_SECONDS),
  })) as [ActionCounts];
  const { perHour, perDay } = rates[action];
  const secondsLeft = (beganAt: string, seconds: number) =>
    Math.max(1, Math.ceil(seconds - (now - Date.parse(beganAt)) / 1000));
  const rateExceeded = (limit: number, period: string, seconds: number) =>
    new RateExceededError(`${DESCRIBE_LIMIT[action](limit)} per ${period}.`, seconds);
  if (counts.day_count > perDay) {
    throw rateExceeded(perDay, 'day', secondsLeft(counts.day_began_at, DAY_SECONDS));
  }
  if (counts.hour_count > perHour) {
    throw rateExceeded(perHour, 'hour', secondsLeft(counts.hour_began_at, HOUR_SECONDS));
  }
}

const countAction = prepare(
  { userPk: 'bigint', action: 'text', time: 'text', hourBefore: 'text', dayBefore: 'text' },
  (_db, { userPk, action, time, hourBefore, dayBefore }) => {
    const isCurrent = (column: string, earliest: RawBuilder<string>) =>
      // A later time means that the system clock was ahead when the period began.
      sql`(${sql.ref(column)} > ${earliest} AND ${sql.ref(column)} <= ${time})`;
    const isHourCurrent = isCurrent('action_counts.hour_began_at', hourBefore);
    const isDayCurrent = isCurrent('action_counts.day_began_at', dayBefore);
    return sql<ActionCounts>`
      INSERT INTO action_counts (user_pk, action, hour_began_at, hour_count, day_began_at, day_count)
      VALUES (${userPk}, ${action}, ${time}, 1, ${time}, 1)
      ON CONFLICT (user_pk, action) DO UPDATE SET
        hour_count = CASE WHEN ${isHourCurrent} THEN action_counts.hour_count + 1 ELSE 1 END,
        hour_began_at = CASE WHEN ${isHourCurrent} THEN action_counts.hour_began_at ELSE ${time} END,
        day_count = CASE WHEN ${isDayCurrent} THEN action_counts.day_count + 1 ELSE 1 END,
        day_began_at = CASE WHEN ${isDayCurrent} THEN action_counts.day_began_at ELSE ${time} END
      RETURNING *`;
  },
);

/** @param detail the limit, and how to make room */
export function quotaExceeded(detail: string): DomainError {
  return new DomainError('quota_exceeded', detail);
}
