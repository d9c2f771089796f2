import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { countOperation } from '../accounts/quotas.ts';
import { type Caller, requireSession } from '../auth/sessions.ts';
import type { DatabaseTransaction, Engine } from '../database/engine.ts';
import { isLiveReport } from '../database/erased-rows.ts';
import { transact } from '../database/transaction.ts';
import { DomainError } from '../errors.ts';
import { findMessage } from '../messages/messages.ts';
import type { QuotaResources } from '../resources.ts';
import { findSpace } from '../spaces/space-access.ts';
import { assertMultilineText } from '../text/characters.ts';
import { findUser } from '../users/user.ts';

/** Maximum number of open reports of one user, so that one user cannot flood the operator. */
const MAX_OPEN_REPORTS = 20;

/**
 * Reports a space to the operator. If the caller has an open report about it, replaces its reason.
 * @throws DomainError `invalid_request`, `space_not_found`, `too_many_reports`, `too_many_requests`
 */
export async function reportSpace(
  { engine, quotas }: QuotaResources,
  caller: Caller,
  spaceId: string,
  reason: string,
): Promise<void> {
  assertReason(reason);
  await transact(engine, async (trx) => {
    await requireSession(trx, caller);
    await countOperation(trx, quotas, caller, 'reportSpace');
    const { pk } = await findSpace(trx, caller, spaceId);
    await saveReport(trx, caller, 'space_pk', { space_pk: pk }, reason);
  });
}

/**
 * Reports a message to the operator. If the caller has an open report about it, replaces its reason.
 * @throws DomainError `invalid_request`, `message_not_found`, `too_many_reports`, `too_many_requests`
 */
export async function reportMessage(
  { engine, quotas }: QuotaResources,
  caller: Caller,
  messageId: string,
  reason: string,
): Promise<void> {
  assertReason(reason);
  await transact(engine, async (trx) => {
    await requireSession(trx, caller);
    await countOperation(trx, quotas, caller, 'reportMessage');
    const { pk, spacePk } = await findMessage(trx, caller, messageId);
    await saveReport(trx, caller, 'message_pk', { space_pk: spacePk, message_pk: pk }, reason);
  });
}

/**
 * Reports a user to the operator. If the caller has an open report about them, replaces its reason.
 * @throws DomainError `invalid_request`, `user_not_found`, `too_many_reports`, `too_many_requests`
 */
export async function reportUser(
  { engine, quotas }: QuotaResources,
  caller: Caller,
  userId: string,
  reason: string,
): Promise<void> {
  assertReason(reason);
  await transact(engine, async (trx) => {
    await requireSession(trx, caller);
    await countOperation(trx, quotas, caller, 'reportUser');
    const { pk } = await findUser(trx, userId);
    await saveReport(trx, caller, 'user_pk', { user_pk: pk }, reason);
  });
}

/**
 * @param target the column of what the report is about
 * @param keys the values of its key columns: of a message, also the key of its space
 */
async function saveReport(
  trx: DatabaseTransaction,
  { userPk }: Caller,
  target: 'space_pk' | 'message_pk' | 'user_pk',
  keys: { space_pk?: number; message_pk?: number; user_pk?: number },
  reason: string,
): Promise<void> {
  await trx
    .insertInto('reports')
    .values({
      report_id: randomUUID(),
      reporter_pk: userPk,
      ...keys,
      reason,
      created_at: new Date().toISOString(),
    })
    .onConflict((conflict) => {
      const own = conflict.columns([target, 'reporter_pk']);
      // As in the unique index, because those of messages have the space, too.
      const same = target === 'space_pk' ? own.where('message_pk', 'is', null) : own;
      return same.doUpdateSet({ reason });
    })
    .execute();
  // Counted afterwards, because a report that exists already does not count again.
  const { count } = await trx
    .selectFrom('reports')
    .leftJoin('messages', 'messages.pk', 'reports.message_pk')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('reporter_pk', '=', userPk)
    .where(isLiveReport)
    .executeTakeFirstOrThrow();
  if (count > MAX_OPEN_REPORTS) {
    throw new DomainError(
      'too_many_reports',
      `You have ${MAX_OPEN_REPORTS} open reports. Withdraw one, or wait until the operator has handled some.`,
    );
  }
}

/** SQL conditions: a row of `reports` is about the space, message or user with this id. */
const isAbout = {
  space: (id: string) =>
    sql<boolean>`message_pk IS NULL AND space_pk = (SELECT pk FROM spaces WHERE space_id = ${id})`,
  message: (id: string) =>
    sql<boolean>`message_pk = (SELECT pk FROM messages WHERE message_id = ${id})`,
  user: (id: string) => sql<boolean>`user_pk = (SELECT pk FROM users WHERE user_id = ${id})`,
};

/**
 * Withdraws the caller's report about a space, a message or a user. Does nothing if there is no open one. The caller needs
 * not be able to see it any more.
 */
export async function withdrawReport(
  engine: Engine,
  caller: Caller,
  target: keyof typeof isAbout,
  id: string,
): Promise<void> {
  await transact(engine, async (trx) => {
    await requireSession(trx, caller);
    await trx
      .deleteFrom('reports')
      .where('reporter_pk', '=', caller.userPk)
      .where(isAbout[target](id))
      .execute();
  });
}

/**
 * Rejects a blank reason, and control characters other than line breaks and tabs.
 * @throws DomainError `invalid_request`
 */
export function assertReason(reason: string): void {
  assertMultilineText(reason, 'A reason', '/reason');
}
