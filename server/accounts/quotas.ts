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

const PERIOD_SECONDS = { day: 86_400, hour: 3_600 };

/** What remains of a quota per hour or day. */
export interface QuotaState {
  limit: number;
  periodSeconds: number;
  remaining: number;
  /** Seconds until the period ends and the whole quota remains. */
  resetSeconds: number;
}

/** A user whose operations count. */
export interface QuotaHolder {
  userPk: number;
  /** The quota that the user exhausts first. Set when an operation is counted. */
  quota?: QuotaState;
}

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
 * the first action after the previous period. Sets the `quota` of the holder, also if it is exceeded.
 * @throws RateExceededError
 */
export async function countOperation(
  trx: DatabaseTransaction,
  { rates }: Pick<Quotas, 'rates'>,
  holder: QuotaHolder,
  operation: CountedOperation,
): Promise<void> {
  if (rates === null) return;
  const { userPk } = holder;
  const action = COUNTED_OPERATIONS[operation];
  const now = Date.now();
  const time = new Date(now).toISOString();
  const secondsBefore = (seconds: number) => new Date(now - seconds * 1000).toISOString();
  const [counts] = (await countAction(trx, {
    userPk,
    action,
    time,
    hourBefore: secondsBefore(PERIOD_SECONDS.hour),
    dayBefore: secondsBefore(PERIOD_SECONDS.day),
  })) as [ActionCounts];
  const { perHour, perDay } = rates[action];
  const states = [
    { period: 'day', limit: perDay, count: counts.day_count, beganAt: counts.day_began_at },
    { period: 'hour', limit: perHour, count: counts.hour_count, beganAt: counts.hour_began_at },
  ] as const;
  const remaining = ({ limit, count }: (typeof states)[number]) => Math.max(0, limit - count);
  const exceeded = states.find(({ limit, count }) => count > limit);
  const [day, hour] = states;
  const shown = exceeded ?? (remaining(hour) < remaining(day) ? hour : day);
  const { limit, period, beganAt } = shown;
  const periodSeconds = PERIOD_SECONDS[period];
  const secondsLeft = Math.ceil(periodSeconds - (now - Date.parse(beganAt)) / 1000);
  const resetSeconds = Math.max(1, secondsLeft);
  holder.quota = { limit, periodSeconds, remaining: remaining(shown), resetSeconds };
  if (exceeded) {
    throw new RateExceededError(`${DESCRIBE_LIMIT[action](limit)} per ${period}.`, resetSeconds);
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
