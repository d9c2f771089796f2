import { randomUUID } from 'node:crypto';
import { countOperation } from '../accounts/quotas.ts';
import { type Caller, requireSession } from '../auth/sessions.ts';
import type { DatabaseTransaction, Engine } from '../database/engine.ts';
import { isLiveReport } from '../database/erased-rows.ts';
import { readPage } from '../database/keyset-page.ts';
import { transact } from '../database/transaction.ts';
import { DomainError } from '../errors.ts';
import { findMessage } from '../messages/messages.ts';
import type { Page, PageRequest } from '../pagination.ts';
import type { QuotaResources } from '../resources.ts';
import { findSpace } from '../spaces/space-access.ts';
import { assertMultilineText } from '../text/characters.ts';

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
    await saveReport(trx, caller, 'space_pk', pk, reason);
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
    const { pk } = await findMessage(trx, caller, messageId);
    await saveReport(trx, caller, 'message_pk', pk, reason);
  });
}

async function saveReport(
  trx: DatabaseTransaction,
  { userPk }: Caller,
  target: 'space_pk' | 'message_pk',
  targetPk: number,
  reason: string,
): Promise<void> {
  await trx
    .insertInto('reports')
    .values({
      report_id: randomUUID(),
      reporter_pk: userPk,
      [target]: targetPk,
      reason,
      created_at: new Date().toISOString(),
    })
    .onConflict((conflict) => conflict.columns([target, 'reporter_pk']).doUpdateSet({ reason }))
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
      `You have ${MAX_OPEN_REPORTS} open reports. Wait until the operator has handled some of them.`,
    );
  }
}

/** A report as the operator sees it. */
export interface Report {
  report_id: string;
  created_at: string;
  reason: string;
  reporter_id: string;
  reporter_username: string;
  /** The reported space, or the space of the reported message. */
  space_id: string;
  title: string;
  /** Null for the report of a space. */
  message_id: string | null;
  text: string | null;
  /** When the author last edited the text. It can differ from the one that was reported. */
  edited_at: string | null;
  /** The author of the reported message, or the creator of the reported space. */
  author_id: string;
  author_username: string;
}

/**
 * Returns a page of the open reports, the newest first. For the operator.
 * @param ofUser omits reports that this user neither sent nor is the `author` of
 */
export async function listReports(
  engine: Engine,
  request: PageRequest,
  ofUser?: number,
): Promise<Page<Report>> {
  const query = engine.db
    .selectFrom('reports')
    .innerJoin('users as reporters', 'reporters.pk', 'reports.reporter_pk')
    .leftJoin('messages', 'messages.pk', 'reports.message_pk')
    .innerJoin('spaces', (join) =>
      join.on(({ eb, fn, ref }) =>
        eb('spaces.pk', '=', fn.coalesce(ref('reports.space_pk'), ref('messages.space_pk'))),
      ),
    )
    .innerJoin('users as authors', (join) =>
      join.on(({ eb, fn, ref }) =>
        eb('authors.pk', '=', fn.coalesce(ref('messages.author_pk'), ref('spaces.creator_pk'))),
      ),
    )
    .select([
      'reports.pk',
      'reports.report_id',
      'reports.created_at',
      'reports.reason',
      'reporters.user_id as reporter_id',
      'reporters.username as reporter_username',
      'spaces.space_id',
      'spaces.title',
      'messages.message_id',
      'messages.text',
      'messages.edited_at',
      'authors.user_id as author_id',
      'authors.username as author_username',
    ])
    .where(isLiveReport)
    .$if(ofUser !== undefined, (reports) =>
      reports.where(({ or, eb }) =>
        or([eb('authors.pk', '=', ofUser as number), eb('reporters.pk', '=', ofUser as number)]),
      ),
    );
  const { items, next } = await readPage(query, ['reports.pk'], 'desc', request);
  return { items: items.map(({ pk: _, ...report }) => report), next };
}

/** Returns the number of open reports. */
export async function countReports({ db }: Pick<Engine, 'db'>): Promise<number> {
  const { count } = await db
    .selectFrom('reports')
    .leftJoin('messages', 'messages.pk', 'reports.message_pk')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where(isLiveReport)
    .executeTakeFirstOrThrow();
  return count;
}

/**
 * Closes reports, which deletes them. If one is unknown, closes none. For the operator.
 * @returns the first unknown id; undefined if all are known
 */
export async function closeReports(
  engine: Engine,
  reportIds: readonly string[],
): Promise<string | undefined> {
  return transact(engine, async (trx) => {
    const known = await trx
      .selectFrom('reports')
      .select('report_id')
      .where('report_id', 'in', reportIds)
      .execute();
    const knownIds = known.map(({ report_id }) => report_id);
    const unknownId = reportIds.find((reportId) => !knownIds.includes(reportId));
    if (unknownId !== undefined) return unknownId;
    await trx.deleteFrom('reports').where('report_id', 'in', knownIds).execute();
    return undefined;
  });
}

/**
 * Rejects a blank reason, and control characters other than line breaks and tabs.
 * @throws DomainError `invalid_request`
 */
export function assertReason(reason: string): void {
  assertMultilineText(reason, 'A reason', '/reason');
}
