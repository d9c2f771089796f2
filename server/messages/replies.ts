import type { MessagePreview } from '../../generated/types.gen.ts';
import type { AvatarUrls } from '../avatars/store.ts';
import type { Database } from '../database/engine.ts';
import { isLiveUser } from '../database/erased-rows.ts';
import { columnOf, prepareForSet } from '../database/prepared.ts';
import { DomainError } from '../errors.ts';
import { previewed, previewMessage } from '../spaces/message-preview.ts';

/** A message to answer. */
interface Original {
  pk: number;
  spacePk: number;
  preview: MessagePreview;
}

/** Finds a message to answer by its public id, in a space that the caller may not see. */
export async function findOriginal(
  db: Database,
  avatars: AvatarUrls,
  messageId: string,
): Promise<Original | undefined> {
  const row = await selectOriginals(db).where('message_id', '=', messageId).executeTakeFirst();
  return row && { pk: row.pk, spacePk: row.space_pk, preview: previewMessage(avatars, row) };
}

export function originalNotFound(): DomainError {
  return new DomainError(
    'message_not_found',
    'There is no message in this space that has the id in reply_to. It may have been deleted.',
    [{ pointer: '/reply_to', message: 'is not a message in this space' }],
  );
}

/** Returns the messages that replies answer, by their keys. Omits deleted ones. */
export async function readOriginals(
  db: Database,
  avatars: AvatarUrls,
  replies: readonly { reply_to_pk: number | null }[],
): Promise<Map<number | null, MessagePreview>> {
  const pks = replies.flatMap(({ reply_to_pk }) => reply_to_pk ?? []);
  if (pks.length === 0) return new Map();
  const rows = await findOriginals(
    db,
    pks.map((pk) => ({ pk })),
  );
  return new Map(rows.map((row) => [row.pk, previewMessage(avatars, row)]));
}

const findOriginals = prepareForSet({ pk: 'bigint' }, (db, rows) =>
  selectOriginals(db).where('messages.pk', 'in', columnOf(rows, 'pk')),
);

function selectOriginals(db: Database) {
  return db
    .selectFrom('messages')
    .innerJoin('users', 'users.pk', 'messages.author_pk')
    .select(['messages.pk', 'space_pk', 'message_id', 'messages.created_at'])
    .select(['user_id', 'username', 'avatar'])
    .select(previewed('messages.text').as('text'))
    .where(isLiveUser('author_pk'));
}
