import { sql } from 'kysely';
import { prepare } from '../database/prepared.ts';
import type { Page, PageRequest } from '../pagination.ts';
import type { AvatarResources } from '../resources.ts';
import { tagKey } from '../text/words/fold.ts';
import { type KeyedRow, readInKeyOrder } from './key-order.ts';
import { resultJson, type SearchResultJson } from './results.ts';
import type { SearchView } from './view.ts';

/**
 * Returns a page of the public spaces with a tag, in the order of their keys. It can have fewer than `limit` items and
 * yet a next page.
 * @param tag the tag's name in any spelling
 */
export function searchTag(
  { avatars }: Pick<AvatarResources, 'avatars'>,
  tag: string,
  page: PageRequest,
  view: SearchView,
): Promise<Page<SearchResultJson>> {
  const key = tagKey(tag);
  return readInKeyOrder(view, page, (after, candidates) =>
    readHits(view.db, { tag: key, after, candidates, avatarBaseUrl: avatars.baseUrl }),
  );
}

const readHits = prepare(
  { tag: 'text', after: 'bigint', candidates: 'bigint', avatarBaseUrl: 'text' },
  (_, { tag, after, candidates, avatarBaseUrl }) => sql<KeyedRow>`
    SELECT tag_hits.key, public_spaces.revision, ${resultJson(avatarBaseUrl)} AS result
    FROM tags
    JOIN tag_hits ON tag_hits.tag_id = tags.tag_id
    JOIN public_spaces ON public_spaces.key = tag_hits.key
    JOIN users ON users.pk = public_spaces.creator_pk
    WHERE tags.tag_key = ${tag} AND tag_hits.key > ${after}
    ORDER BY tag_hits.key
    LIMIT ${candidates}`,
);
