import type { Engine } from '../database/engine.ts';
import { isLiveReport } from '../database/erased-rows.ts';
import { readPage } from '../database/keyset-page.ts';
import { transact } from '../database/transaction.ts';
import type { Page, PageRequest } from '../pagination.ts';

/** A report as the operator sees it. */
export interface Report {
  report_id: string;
  created_at: string;
  reason: string;
  reporter_id: string;
  reporter_username: string;
  /** The reported space, or the space of the reported message. Null for the report of a user. */
  space_id: string | null;
  title: string | null;
  /** Null for the report of a space or a user. */
  message_id: string | null;
  text: string | null;
  /** When the author last edited the text. It can differ from the one that was reported. */
  edited_at: string | null;
  /** The author of the reported message, the creator of the reported space, or the reported user. */
  author_id: string;
  author_username: string;
}

/**
 * Returns a page of the open reports, the newest first. For the operator.
 * @param about only the reports about the space or user with this id, and about the messages in or by it
 * @param ofUser only the reports that this user sent or is the `author` of
 */
export async function listReports(
  engine: Engine,
  request: PageRequest,
  { about, ofUser }: { about?: string | undefined; ofUser?: number } = {},
): Promise<Page<Report>> {
  const query = engine.db
    .selectFrom('reports')
    .innerJoin('users as reporters', 'reporters.pk', 'reports.reporter_pk')
    .leftJoin('messages', 'messages.pk', 'reports.message_pk')
    .leftJoin('spaces', 'spaces.pk', 'reports.space_pk')
    .innerJoin('users as authors', (join) =>
      join.on(({ eb, fn, ref }) =>
        eb(
          'authors.pk',
          '=',
          fn.coalesce(ref('reports.user_pk'), ref('messages.author_pk'), ref('spaces.creator_pk')),
        ),
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
    .$if(about !== undefined, (reports) =>
      reports.where(({ or, eb }) =>
        or([
          eb('spaces.space_id', '=', about as string),
          eb('authors.user_id', '=', about as string),
        ]),
      ),
    )
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
