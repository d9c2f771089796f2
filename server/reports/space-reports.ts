import type { SpaceReport } from '../../generated/types.gen.ts';
import type { Caller } from '../auth/sessions.ts';
import { isLiveReport } from '../database/erased-rows.ts';
import { readPage } from '../database/keyset-page.ts';
import type { Page, PageRequest } from '../pagination.ts';
import type { AvatarResources } from '../resources.ts';
import { previewed, previewMessage } from '../spaces/message-preview.ts';
import { hasRightIn } from '../spaces/rights.ts';
import { findSpaceFor } from '../spaces/space-access.ts';

/**
 * Returns a page of the open reports about a space that the caller moderates, and about the messages in it, the newest first.
 * Does not tell who has sent them, and omits those about the caller: as the author of the message, or the creator of the
 * space.
 * @throws DomainError `space_not_found`, `not_space_moderator`
 */
export async function listSpaceReports(
  { engine, avatars }: AvatarResources,
  caller: Caller,
  spaceId: string,
  request: PageRequest,
): Promise<Page<SpaceReport>> {
  const space = await findSpaceFor(engine.db, caller, spaceId, 'moderate');
  const query = engine.db
    .selectFrom('reports')
    .leftJoin('messages', 'messages.pk', 'reports.message_pk')
    .leftJoin('users', 'users.pk', 'messages.author_pk')
    .select(['reports.pk', 'report_id', 'reason', 'reports.created_at as reported_at'])
    .select(['message_id', 'messages.created_at', 'user_id', 'username', 'avatar'])
    .select(previewed('messages.text').as('text'))
    .where('reports.space_pk', '=', space.pk)
    .where(isLiveReport)
    .where(({ eb, fn, ref }) =>
      eb(fn.coalesce(ref('messages.author_pk'), eb.val(space.creatorPk)), '!=', caller.userPk),
    )
    .where(hasRightIn(caller, space.pk, 'moderate'));
  const { items, next } = await readPage(query, ['reports.pk'], 'desc', request);
  return {
    items: items.map(({ report_id, reason, reported_at, ...message }) => ({
      report_id,
      reason,
      created_at: reported_at,
      message: isMessage(message) ? previewMessage(avatars, message) : null,
    })),
    next,
  };
}

/** Returns whether a left join has found a message and its author. */
function isMessage<Row extends { message_id: string | null }>(
  row: Row,
): row is Row & Parameters<typeof previewMessage>[1] {
  return row.message_id !== null;
}
