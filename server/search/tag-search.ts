import { sql } from 'kysely';
import type { Database } from '../database/engine.ts';
import { prepare } from '../database/prepared.ts';
import { type Page, type PageRequest, pageOf } from '../pagination.ts';
import type { AvatarResources } from '../resources.ts';
import { tagKey } from '../text/words/fold.ts';
import { resultJson, type SearchResultJson } from './results.ts';

/**
 * Number of spaces that a later page reads. Those that changed since the first page are omitted, so the page can end
 * early.
 */
const MAX_CANDIDATES = 500;

type TagPosition = readonly [lastKey: number, firstRevision: number];

/**
 * Returns a page of the public spaces with a tag, in the order of their keys. It can have fewer than `limit` items and
 * yet a next page.
 * @param tag      the tag's name in any spelling
 * @param revision the current revision
 */
export async function searchTag(
  { engine, avatars }: AvatarResources,
  tag: string,
  revision: number,
  { limit, position }: PageRequest,
  db: Database = engine.db,
): Promise<Page<SearchResultJson>> {
  const [after, firstRevision] = (position as TagPosition | undefined) ?? [-1, revision];
  const candidates = position ? MAX_CANDIDATES : limit + 1;
  const hits = await readHits(db, {
    tag: tagKey(tag),
    after,
    candidates,
    avatarBaseUrl: avatars.baseUrl,
  });
  const unchanged = hits.filter((hit) => hit.revision < firstRevision).slice(0, limit + 1);
  const page = pageOf(unchanged, limit, ({ key }) => [key, firstRevision]);
  const last = hits.at(-1);
  const isTruncated = page.next === null && hits.length === candidates && last;
  return {
    items: page.items.map(({ result }) => result),
    next: isTruncated ? [last.key, firstRevision] : page.next,
  };
}

const readHits = prepare(
  { tag: 'text', after: 'bigint', candidates: 'bigint', avatarBaseUrl: 'text' },
  (_, { tag, after, candidates, avatarBaseUrl }) => sql<{
    key: number;
    revision: number;
    result: SearchResultJson;
  }>`
    SELECT tag_hits.key, public_spaces.revision, ${resultJson(avatarBaseUrl)} AS result
    FROM tags
    JOIN tag_hits ON tag_hits.tag_id = tags.tag_id
    JOIN public_spaces ON public_spaces.key = tag_hits.key
    JOIN users ON users.pk = public_spaces.creator_pk
    WHERE tags.tag_key = ${tag} AND tag_hits.key > ${after}
    ORDER BY tag_hits.key
    LIMIT ${candidates}`,
);
