import { sql } from 'kysely';
import { prepareRead } from '../database/prepared.ts';
import { decodeCursor, type Page, type PageRequest, pageOf } from '../pagination.ts';
import type { Stores } from '../stores.ts';
import { resultJson, type SearchResultJson } from './results.ts';
import { tagKey } from './words/fold.ts';

/**
 * Finds the public spaces with a tag, popular ones first.
 * @param tag        in any spelling with the same `tagKey`
 * @param revision   the current one
 * @throws DomainError `invalid_cursor`
 */
export async function searchTag(
  { engine, avatars }: Stores,
  tag: string,
  { limit, cursor }: PageRequest,
  revision: number,
): Promise<Page<SearchResultJson>> {
  const [after, walkRevision] =
    cursor === undefined ? [-1, revision] : decodeCursor<Position>(cursor, isPosition);
  const values = {
    tag: tagKey(tag),
    after,
    revision: walkRevision,
    limit: limit + 1,
    avatarBaseUrl: avatars.baseUrl,
  };
  const page = pageOf(await readHits(engine, values), limit, ({ key }) => [key, walkRevision]);
  return { items: page.items.map(({ result }) => result), next: page.next };
}

/** The last key of the page before, and the revision of the walk through the pages. */
type Position = readonly [after: number, revision: number];

function isPosition(parts: unknown[]): parts is [number, number] {
  return parts.length === 2 && parts.every(Number.isSafeInteger);
}

const readHits = prepareRead(
  { tag: 'text', after: 'bigint', revision: 'bigint', limit: 'bigint', avatarBaseUrl: 'text' },
  (_, { tag, after, revision, limit, avatarBaseUrl }) => sql<{
    key: number;
    result: SearchResultJson;
  }>`
    SELECT tag_hits.key, ${resultJson(avatarBaseUrl)} AS result
    FROM tags
    JOIN tag_hits ON tag_hits.tag_id = tags.tag_id
    JOIN public_spaces ON public_spaces.key = tag_hits.key
    JOIN users ON users.pk = public_spaces.creator_pk
    WHERE tags.tag_key = ${tag} AND tag_hits.key > ${after} AND public_spaces.revision < ${revision}
    ORDER BY tag_hits.key
    LIMIT ${limit}`,
);
