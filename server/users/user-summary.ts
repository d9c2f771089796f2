import type { UserSummary } from '../../generated/types.gen.ts';
import type { AvatarUrls } from '../avatars/store.ts';

/**
 * Returns a user as the creator of a space, the author of a message or a participant. `search/results.ts` builds the
 * same object for search results.
 */
export function summarizeUser(
  avatars: AvatarUrls,
  user: { user_id: string; username: string; avatar: string | null },
): UserSummary {
  return {
    user_id: user.user_id,
    username: user.username,
    profile_picture: avatars.url(user.avatar),
  };
}
