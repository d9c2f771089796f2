import { type RawBuilder, sql } from 'kysely';
import type { SearchResult } from '../../generated/types.gen.ts';
import { DEFAULT_AVATAR_NAME } from '../avatars/store.ts';

/**
 * A SearchResult as JSON text. Most of it changes only when the space is edited, so it is stored as text and
 * concatenated by the database, which is several times as fast as reading rows and serialising them.
 */
export type SearchResultJson = string & { readonly json: 'SearchResult' };

/** The stored text before the creator, and after the participant count. */
export interface Fragments {
  head: string;
  tail: string;
}

interface Indexed {
  title: string;
  description: string;
  tags: { tag_id: number; tag_name: string }[];
}

export function fragmentsOf(
  space: { space_id: string; title: string; description: string },
  tags: Indexed['tags'],
): Fragments {
  const head = {
    space_id: space.space_id,
    title: space.title,
    description: space.description,
    visibility: 'public',
  } satisfies Partial<SearchResult>;
  const tail = {
    tags: tags.map(({ tag_id, tag_name }) => ({ tag_id, tag_name })),
  } satisfies Partial<SearchResult>;
  return {
    head: `${JSON.stringify(head).slice(0, -1)},"creator":`,
    tail: `,${JSON.stringify(tail).slice(1)}`,
  };
}

/** Returns the values from which a space's fragments were made. */
export function readFragments({ head, tail }: Fragments): Indexed {
  const { title, description, tags } = JSON.parse(`${head}null${tail}`) as SearchResult;
  return { title, description, tags };
}

/**
 * Returns SQL for a search result, from a row of `public_spaces` and the creator's row of `users`. The creator is the
 * same as from `describeCreator`. Ids, usernames and avatar names need no escaping in JSON: their rules admit neither
 * quotes nor backslashes nor control characters.
 */
export function resultJson(avatarBaseUrl: RawBuilder<string>): RawBuilder<SearchResultJson> {
  return sql`public_spaces.head
    || '{"user_id":"' || users.user_id
    || '","username":"' || users.username
    || '","profile_picture":"' || ${avatarBaseUrl} || '/' || coalesce(users.avatar, ${sql.lit(DEFAULT_AVATAR_NAME)})
    || '"},"participant_count":' || public_spaces.participant_count
    || public_spaces.tail`;
}
