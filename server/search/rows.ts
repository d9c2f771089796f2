import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../database/engine.ts';
import { prepareRead } from '../database/prepared.ts';
import type { Stores } from '../stores.ts';
import { resultJson, type SearchResultJson } from './results.ts';

/** A search result, with the columns that decide whether it belongs to a page. */
export interface FoundRow {
  key: number;
  title_key: string;
  /** See `PublicSpaces.revision`. */
  revision: number;
  result: SearchResultJson;
}

/** Returns the spaces with this title key and a key greater than `after`, in the order of their keys. */
export async function readRowsByTitle(
  { engine, avatars }: Stores,
  db: Database,
  titleKey: string,
  after: number,
  limit: number,
): Promise<FoundRow[]> {
  return readByTitle(engine, { titleKey, after, limit, avatarBaseUrl: avatars.baseUrl }, db);
}

const readByTitle = prepareRead(
  { titleKey: 'text', after: 'bigint', limit: 'bigint', avatarBaseUrl: 'text' },
  (_, { titleKey, after, limit, avatarBaseUrl }) => sql<FoundRow>`
    ${selectRows(avatarBaseUrl)}
    WHERE public_spaces.title_key = ${titleKey} AND public_spaces.key > ${after}
    ORDER BY public_spaces.key
    LIMIT ${limit}`,
);

/** Returns the spaces with these keys, by key. Missing spaces are omitted. */
export async function readRows(
  { engine, avatars }: Stores,
  db: Database,
  keys: readonly number[],
): Promise<Map<number, FoundRow>> {
  const rows = new Map<number, FoundRow>();
  for (let i = 0; i < keys.length; i += KEYS_PER_STATEMENT) {
    const values: Record<string, number> = {};
    // Padded to a fixed length so that the prepared statement is reused.
    for (let j = 0; j < KEYS_PER_STATEMENT; j += 1) values[`key${j}`] = keys[i + j] ?? -1;
    const found = await readByKeys(
      engine,
      { ...values, avatarBaseUrl: avatars.baseUrl } as never,
      db,
    );
    for (const row of found) rows.set(row.key, row);
  }
  return rows;
}

/** A page of the default size, 20, and the first row of the next page. */
const KEYS_PER_STATEMENT = 21;

const readByKeys = prepareRead(
  {
    avatarBaseUrl: 'text',
    ...Object.fromEntries(
      Array.from({ length: KEYS_PER_STATEMENT }, (_, i) => [`key${i}`, 'bigint' as const]),
    ),
  },
  (_, { avatarBaseUrl, ...keys }) => sql<FoundRow>`
    ${selectRows(avatarBaseUrl as RawBuilder<string>)}
    WHERE public_spaces.key IN (${sql.join(Object.values(keys))})`,
);

function selectRows(avatarBaseUrl: RawBuilder<string>) {
  return sql`
    SELECT public_spaces.key, public_spaces.title_key, public_spaces.revision,
      ${resultJson(avatarBaseUrl)} AS result
    FROM public_spaces JOIN users ON users.pk = public_spaces.creator_pk`;
}
