import { sql } from 'kysely';
import type { ListedSpace, SearchResult } from '../../generated/types.gen.ts';
import type { Caller } from '../auth/sessions.ts';
import type { Engine } from '../database/engine.ts';
import { isLiveSpace } from '../database/erased-rows.ts';
import { readPage } from '../database/keyset-page.ts';
import type { Page, PageRequest } from '../pagination.ts';
import type { AvatarResources } from '../resources.ts';
import { resultJson } from '../search/results.ts';
import { findUser } from '../users/user.ts';
import { readParticipations } from './listed-spaces.ts';

/**
 * Returns a page of the public spaces that a user created, newest first.
 * @throws DomainError `user_not_found`
 */
export async function listUserSpaces(
  { engine, avatars }: AvatarResources,
  caller: Caller,
  userId: string,
  request: PageRequest,
): Promise<Page<ListedSpace>> {
  const { pk } = await findUser(engine.db, userId);
  await engine.searchIndex.update();
  const page = await engine.searchIndex.read((db) => {
    // Without spaces of suspended users: either they or their creators have no row here.
    const query = db
      .selectFrom('public_spaces')
      .innerJoin('users', 'users.pk', 'public_spaces.creator_pk')
      .select(['public_spaces.space_pk', resultJson(sql.val(avatars.baseUrl)).as('result')])
      .where('public_spaces.creator_pk', '=', pk);
    return readPage(query, ['public_spaces.space_pk'], 'desc', request);
  });
  const spaces = page.items.map(({ result }) => JSON.parse(result) as SearchResult);
  const participations = await readParticipations(
    engine.db,
    caller,
    spaces.map(({ space_id }) => space_id),
  );
  const items = spaces.map((space) => ({
    ...space,
    participation: participations.get(space.space_id) ?? null,
  }));
  return { ...page, items };
}

/** A space as the operator sees it. */
export interface CreatedSpace {
  space_id: string;
  title: string;
  visibility: 'public' | 'private';
  participant_count: number;
  created_at: string;
}

/** Returns a page of all spaces that a user created, the newest first. For the operator. */
export async function listCreatedSpaces(
  { db }: Engine,
  userPk: number,
  request: PageRequest,
): Promise<Page<CreatedSpace>> {
  const query = db
    .selectFrom('spaces')
    .select(['pk', 'space_id', 'title', 'visibility', 'participant_count', 'created_at'])
    .where('creator_pk', '=', userPk)
    .where(isLiveSpace('pk'));
  const { items, next } = await readPage(query, ['pk'], 'desc', request);
  return { items: items.map(({ pk: _, ...space }) => space), next };
}
