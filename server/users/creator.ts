import type { UserSummary } from '../../generated/types.gen.ts';
import type { AvatarUrls } from '../avatars/store.ts';

/**
 * Returns a user as the creator of a space, the author of a message or a participant. In search results, the database builds the same object,
 * see `search/results.ts`.
 */
export function describeCreator(
  avatars: AvatarUrls,
  user: { user_id: string; username: string; avatar: string | null },
): UserSummary {
  return {
    user_id: user.user_id,
    username: user.username,
    profile_picture: avatars.url(user.avatar),
  };
}
