import { sql } from 'kysely';
import type { Database } from '../database/engine.ts';
import { prepare, prepareForSet } from '../database/prepared.ts';
import type { AvatarResources } from '../resources.ts';
import { resultJson, type SearchResultJson } from './results.ts';

/** A search result, with the columns that decide whether it belongs to a page. */
export interface FoundRow {
  key: number;
  title_key: string;
  /** See `PublicSpaces.revision`. */
  revision: number;
  result: SearchResultJson;
}

/** Returns the keys greater than `after` of spaces with this title key, in ascending order. */
export async function readKeysByTitle(
  db: Database,
  titleKey: string,
  after: number,
  limit: number,
): Promise<number[]> {
  const rows = await selectKeysByTitle(db, { titleKey, after, limit });
  return rows.map(({ key }) => key);
}

const selectKeysByTitle = prepare(
  { titleKey: 'text', after: 'bigint', limit: 'bigint' },
  (db, { titleKey, after, limit }) =>
    db
      .selectFrom('public_spaces')
      .select('key')
      .where('title_key', '=', titleKey)
      .where('key', '>', after)
      .orderBy('key')
      .limit(limit),
);

/** Returns the spaces with these keys, by key. Missing spaces are omitted. */
export async function readRows(
  { avatars }: Pick<AvatarResources, 'avatars'>,
  db: Database,
  keys: readonly number[],
): Promise<Map<number, FoundRow>> {
  if (keys.length === 0) return new Map();
  const wanted = keys.map((key) => ({ key, avatarBaseUrl: avatars.baseUrl }));
  const rows = await readByKeys(db, wanted);
  return new Map(rows.map((row) => [row.key, row]));
}

const readByKeys = prepareForSet({ key: 'bigint', avatarBaseUrl: 'text' }, (_, wanted) => {
  // All have the same `avatarBaseUrl`.
  const [{ avatarBaseUrl }] = wanted as [(typeof wanted)[number]];
  return sql<FoundRow>`
    SELECT public_spaces.key, public_spaces.title_key, public_spaces.revision,
      ${resultJson(avatarBaseUrl)} AS result
    FROM public_spaces JOIN users ON users.pk = public_spaces.creator_pk
    WHERE public_spaces.key IN (${sql.join(wanted.map(({ key }) => key))})`;
});
