import { type RawBuilder, sql } from 'kysely';
import type { MessagePreview } from '../../generated/types.gen.ts';
import type { AvatarUrls } from '../avatars/store.ts';
import { summarizeUser } from '../users/user-summary.ts';

/** Number of code points of a message in a preview. */
const MAX_PREVIEW_LENGTH = 140;

/** SQL for the beginning of a text, one code point longer than its preview if the text is. */
export function previewed(column: string): RawBuilder<string> {
  return sql<string>`substr(${sql.ref(column)}, 1, ${sql.lit(MAX_PREVIEW_LENGTH + 1)})`;
}

/** @param row a message with its author, and as its text what `previewed` selects */
export function previewMessage(
  avatars: AvatarUrls,
  row: {
    message_id: string;
    user_id: string;
    username: string;
    avatar: string | null;
    text: string;
    created_at: string;
  },
): NonNullable<MessagePreview> {
  return {
    message_id: row.message_id,
    author: summarizeUser(avatars, row),
    text: shorten(row.text),
    created_at: row.created_at,
  };
}

function shorten(text: string): string {
  const codePoints = [...text];
  if (codePoints.length <= MAX_PREVIEW_LENGTH) return text;
  return `${codePoints.slice(0, MAX_PREVIEW_LENGTH).join('')}…`;
}
