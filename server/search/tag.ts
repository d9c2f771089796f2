import { sql } from 'kysely';
import { decodeCursor, type Page, type PageRequest, pageOf } from '../cursor.ts';
import type { Engine } from '../database/engine.ts';
import { resultJson, type SearchResultJson } from './results.ts';
import { tagKey } from './words.ts';

/**
 * Finds the public spaces that carry a tag, popular ones first.
 * @param tag        its name in any spelling that folds to the same
 * @param avatarBase what the names of pictures are appended to
 * @throws Refusal `invalid_cursor`
 */
export async function searchTag(
  engine: Engine,
  tag: string,
  { limit, cursor }: PageRequest,
  avatarBase: string,
): Promise<Page<SearchResultJson>> {
  const [after] = cursor === undefined ? [-1] : decodeCursor<readonly [number]>(cursor, isPosition);
  const { rows } = await sql<{ key: number; result: SearchResultJson }>`
    SELECT tag_hits.key, ${resultJson(avatarBase)} AS result
    FROM tags
    JOIN tag_hits ON tag_hits.tag = tags.id
    JOIN public_spaces ON public_spaces.key = tag_hits.key
    JOIN spaces ON spaces.id = public_spaces.space
    JOIN users ON users.id = spaces.creator
    WHERE tags.tag_key = ${tagKey(tag)} AND tag_hits.key > ${after}
    ORDER BY tag_hits.key
    LIMIT ${limit + 1}`.execute(engine.readDb);
  const page = pageOf(rows, limit, ({ key }) => [key]);
  return { items: page.items.map(({ result }) => result), next: page.next };
}

function isPosition(parts: unknown[]): parts is [number] {
  return parts.length === 1 && Number.isSafeInteger(parts[0]);
}
