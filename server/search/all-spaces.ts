import { sql } from 'kysely';
import type { Database } from '../database/engine.ts';
import { prepare } from '../database/prepared.ts';
import { type Page, type PageRequest, pageOf } from '../pagination.ts';
import type { AvatarResources } from '../resources.ts';
import { type KeyedRow, readInKeyOrder } from './key-order.ts';
import { resultJson, type SearchResultJson } from './results.ts';
import type { SearchView } from './view.ts';

export type SpaceOrder = 'popular' | 'newest';

type NewestPosition = readonly [lastSpacePk: number];

/**
 * Returns a page of all public spaces. It can have fewer than `limit` items and yet a next page.
 */
export function listAllSpaces(
  resources: AvatarResources,
  order: SpaceOrder,
  page: PageRequest,
  view: SearchView,
): Promise<Page<SearchResultJson>> {
  const avatarBaseUrl = resources.avatars.baseUrl;
  if (order === 'newest') return listNewest(view.db, avatarBaseUrl, page);
  return readInKeyOrder(view, page, (after, candidates) =>
    readPopular(view.db, { after, candidates, avatarBaseUrl }),
  );
}

/** Changes do not affect the order, so changed spaces are included. */
async function listNewest(
  db: Database,
  avatarBaseUrl: string,
  { limit, position }: PageRequest,
): Promise<Page<SearchResultJson>> {
  const [before] = (position as NewestPosition | undefined) ?? [Number.MAX_SAFE_INTEGER];
  const rows = await readNewest(db, { before, candidates: limit + 1, avatarBaseUrl });
  const { items, next } = pageOf(rows, limit, ({ space_pk }) => [space_pk]);
  return { items: items.map(({ result }) => result), next };
}

const readPopular = prepare(
  { after: 'bigint', candidates: 'bigint', avatarBaseUrl: 'text' },
  (_, { after, candidates, avatarBaseUrl }) => sql<KeyedRow>`
    SELECT public_spaces.key, public_spaces.revision, ${resultJson(avatarBaseUrl)} AS result
    FROM public_spaces JOIN users ON users.pk = public_spaces.creator_pk
    WHERE public_spaces.key > ${after}
    ORDER BY public_spaces.key
    LIMIT ${candidates}`,
);

const readNewest = prepare(
  { before: 'bigint', candidates: 'bigint', avatarBaseUrl: 'text' },
  (_, { before, candidates, avatarBaseUrl }) => sql<{
    space_pk: number;
    result: SearchResultJson;
  }>`
    SELECT public_spaces.space_pk, ${resultJson(avatarBaseUrl)} AS result
    FROM public_spaces JOIN users ON users.pk = public_spaces.creator_pk
    WHERE public_spaces.space_pk < ${before}
    ORDER BY public_spaces.space_pk DESC
    LIMIT ${candidates}`,
);
