import { sql } from 'kysely';
import type { Engine } from '../database/engine.ts';
import { prepared } from '../database/prepared.ts';
import { decodeCursor, type Page, type PageRequest, pageOf } from '../pagination.ts';
import { tagKey } from '../text/words/words.ts';
import { resultJson, type SearchResultJson } from './results.ts';
import { currentRevision } from './revision.ts';

/**
 * Finds the public spaces that carry a tag, popular ones first.
 * @param tag        its name in any spelling that folds to the same
 * @param avatarBase what the names of pictures are appended to
 * @param revision   the current one, if it is known
 * @throws DomainError `invalid_cursor`
 */
export async function searchTag(
  engine: Engine,
  tag: string,
  { limit, cursor }: PageRequest,
  avatarBase: string,
  revision?: number,
): Promise<Page<SearchResultJson>> {
  const [after, began] =
    cursor === undefined
      ? [-1, revision ?? (await currentRevision(engine))]
      : decodeCursor<Position>(cursor, isPosition);
  const values = { tag: tagKey(tag), after, revision: began, limit: limit + 1, avatarBase };
  const page = pageOf(await readHits(engine, values), limit, ({ key }) => [key, began]);
  return { items: page.items.map(({ result }) => result), next: page.next };
}

/** The key before the page, and the revision at which the walk through the pages began. */
type Position = readonly [after: number, revision: number];

function isPosition(parts: unknown[]): parts is [number, number] {
  return parts.length === 2 && parts.every(Number.isSafeInteger);
}

const readHits = prepared<
  { tag: string; after: number; revision: number; limit: number; avatarBase: string },
  { key: number; result: SearchResultJson }
>(
  (_, { tag, after, revision, limit, avatarBase }) => sql`
    SELECT tag_hits.key, ${resultJson(avatarBase)} AS result
    FROM tags
    JOIN tag_hits ON tag_hits.tag = tags.id
    JOIN public_spaces ON public_spaces.key = tag_hits.key
    JOIN users ON users.id = public_spaces.creator
    WHERE tags.tag_key = ${tag} AND tag_hits.key > ${after} AND public_spaces.revision < ${revision}
    ORDER BY tag_hits.key
    LIMIT ${limit}`,
);
