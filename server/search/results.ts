import { type RawBuilder, sql } from 'kysely';
import type { SearchResult, Tag } from '../../generated/types.gen.ts';
import { DEFAULT_AVATAR_NAME } from '../avatars/store.ts';

/**
 * Of the whole search index. Increase it whenever the stored search results, keys, the folding or splitting of words, or
 * the terms of the word index change.
 */
export const INDEX_VERSION = 2;

/** The columns that `fragmentsOf` needs, besides tags. */
export const RESULT_COLUMNS = ['spaces.space_id', 'spaces.title', 'spaces.description'] as const;

/**
 * A SearchResult as JSON text. Most of it changes only when the space is edited. That part is stored as text, to which
 * the database adds the rest, which is several times as fast as serialising rows.
 */
export type SearchResultJson = string & { readonly json: 'SearchResult' };

/** The stored parts of the JSON text: before the creator, and after the participant count. */
export interface Fragments {
  head: string;
  tail: string;
}

/** The values that the indexes of a space were built from. */
interface IndexedValues {
  title: string;
  description: string;
  tags: Tag[];
}

/** The place of a search result in the bytes of a JSON array. */
export interface ResultPlace {
  spaceId: string;
  /** The offset of its closing brace, where fields can be added. */
  end: number;
}

/** Returns a JSON array of search results, and their places. */
export function joinResults(results: readonly SearchResultJson[]): {
  body: Buffer;
  places: ResultPlace[];
} {
  let length = 0;
  const places = results.map((result) => {
    // With the bracket or comma before it.
    length += 1 + Buffer.byteLength(result);
    return { spaceId: spaceIdOf(result), end: length - 1 };
  });
  return { body: toUnpooledBuffer(`[${results.join(',')}]`), places };
}

/** Ids need no JSON escaping. */
function spaceIdOf(result: SearchResultJson): string {
  const start = '{"space_id":"'.length;
  return result.slice(start, result.indexOf('"', start));
}

/** Slices of Node.js' buffer pool would keep all 64 KiB of the pool in memory for as long as one of them is cached. */
function toUnpooledBuffer(text: string): Buffer {
  const buffer = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  buffer.write(text);
  return buffer;
}

/** Returns the stored parts of the search result of a space. */
export function fragmentsOf(
  space: Omit<SearchResult, 'creator' | 'participant_count' | 'visibility'>,
): Fragments {
  const head = {
    space_id: space.space_id,
    title: space.title,
    description: space.description,
    visibility: 'public',
  } satisfies Omit<SearchResult, 'creator' | 'participant_count' | 'tags'>;
  const tail = {
    tags: space.tags.map(({ tag_id, tag_name }) => ({ tag_id, tag_name })),
  } satisfies Pick<SearchResult, 'tags'>;
  return {
    head: `${JSON.stringify(head).slice(0, -1)},"creator":`,
    tail: `,${JSON.stringify(tail).slice(1)}`,
  };
}

/** Restores the title, description and tags that `fragmentsOf` was called with. */
export function readFragments({ head, tail }: Fragments): IndexedValues {
  const { title, description, tags } = JSON.parse(`${head}null${tail}`) as SearchResult;
  return { title, description, tags };
}

/**
 * Returns SQL for a search result, from a row of `public_spaces` and the creator's row of `users`. The creator has the
 * same fields as from `summarizeUser`. Ids, usernames and avatar names need no JSON escaping, because they cannot
 * contain quotes, backslashes or control characters.
 */
export function resultJson(avatarBaseUrl: RawBuilder<string>): RawBuilder<SearchResultJson> {
  return sql`public_spaces.head
    || '{"user_id":"' || users.user_id
    || '","username":"' || users.username
    || '","profile_picture":"' || ${avatarBaseUrl} || '/' || coalesce(users.avatar, ${sql.lit(DEFAULT_AVATAR_NAME)})
    || '"},"participant_count":' || public_spaces.participant_count
    || public_spaces.tail`;
}
