import type { MessagePreview } from '../../generated/types.gen.ts';
import type { AvatarUrls } from '../avatars/store.ts';
import type { Database } from '../database/engine.ts';
import { isLiveUser } from '../database/erased-rows.ts';
import { DomainError } from '../errors.ts';
import { preview, previewed } from '../spaces/message-preview.ts';
import { summarizeUser } from '../users/user-summary.ts';

/** SQL condition on `original`, the message that another one answers: it has not been deleted. */
export const isLiveOriginal = isLiveUser('original.author_pk');

/** What replies show of `original` and its author, `original_author`. Read with each reply, so nothing is copied. */
export const originalColumns = [
  'original.message_id as original_id',
  previewed('original.text').$castTo<string | null>().as('original_text'),
  'original.created_at as original_created_at',
  'original_author.user_id as original_user_id',
  'original_author.username as original_username',
  'original_author.avatar as original_avatar',
] as const;

/** The values of these columns. All are null if there is no such message. */
interface Original {
  original_id: string | null;
  original_text: string | null;
  original_created_at: string | null;
  original_user_id: string | null;
  original_username: string | null;
  original_avatar: string | null;
}

/** A message that may be answered, in a space that the caller may not see. */
export interface FoundOriginal extends Original {
  pk: number | null;
  spacePk: number | null;
}

/** Returns a message to answer, by its public id. It has no key if there is none. */
export async function findOriginal(
  db: Database,
  messageId: string | null | undefined,
): Promise<FoundOriginal> {
  const found =
    messageId &&
    (await db
      .selectFrom('messages as original')
      .innerJoin('users as original_author', 'original_author.pk', 'original.author_pk')
      .select(['original.pk', 'original.space_pk as spacePk'])
      .select(originalColumns)
      .where('original.message_id', '=', messageId)
      .where(isLiveOriginal)
      .executeTakeFirst());
  return found || NO_ORIGINAL;
}

const NO_ORIGINAL: FoundOriginal = {
  pk: null,
  spacePk: null,
  original_id: null,
  original_text: null,
  original_created_at: null,
  original_user_id: null,
  original_username: null,
  original_avatar: null,
};

export function originalNotFound(): DomainError {
  return new DomainError(
    'message_not_found',
    'There is no message in this space that has the id in reply_to. It may have been deleted.',
    [{ pointer: '/reply_to', message: 'is not a message in this space' }],
  );
}

export function describeOriginal(avatars: AvatarUrls, row: Original): MessagePreview {
  if (row.original_id === null) return null;
  return {
    message_id: row.original_id,
    author: summarizeUser(avatars, {
      user_id: row.original_user_id as string,
      username: row.original_username as string,
      avatar: row.original_avatar,
    }),
    text: preview(row.original_text as string),
    created_at: row.original_created_at as string,
  };
}
