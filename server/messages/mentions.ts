import { type RawBuilder, sql } from 'kysely';
import type { UserSummary } from '../../generated/types.gen.ts';
import type { AvatarUrls } from '../avatars/store.ts';
import type { Database, DatabaseTransaction } from '../database/engine.ts';
import { isLiveUser } from '../database/erased-rows.ts';
import { columnOf, prepareForRows, prepareForSet } from '../database/prepared.ts';
import { isVisible } from '../spaces/rights.ts';
import { usernameKey } from '../text/username-keys.ts';
import { summarizeUser } from '../users/user-summary.ts';
import { mentionedNames } from './mentioned-names.ts';

/** A user whom a message mentions. */
export interface MentionedUser {
  pk: number;
  user_id: string;
  username: string;
  avatar: string | null;
}

/**
 * Finds the users whom a text mentions, among those who can read the space. So it does not reveal other names. They are
 * in the same order as those of `readMentions`, because the ETag of a message depends on it.
 */
export async function findMentioned(
  db: Database,
  spacePk: number,
  text: string,
): Promise<MentionedUser[]> {
  const names = mentionedNames(text).map((each) => each.map(usernameKey));
  if (names.length === 0) return [];
  const keys = new Set(names.flat());
  const users = await findReaders(
    db,
    Array.from(keys, (key) => ({ key, spacePk })),
  );
  const byKey = new Map(users.map((user) => [user.username_key, user]));
  const longest = names.flatMap(
    (each) => byKey.get(each.find((key) => byKey.has(key)) ?? '') ?? [],
  );
  return [...new Set(longest)].sort((a, b) => a.pk - b.pk);
}

const findReaders = prepareForSet({ key: 'text', spacePk: 'bigint' }, (db, rows) => {
  // The same one in each row.
  const { spacePk } = rows[0] as (typeof rows)[number];
  return db
    .selectFrom('users')
    .select(['pk', 'user_id', 'username', 'avatar', 'username_key'])
    .where('username_key', 'in', columnOf(rows, 'key'))
    .where('suspended_at', 'is', null)
    .where(isVisible(sql.ref('users.pk'), spacePk));
});

/** Adds rows of `mentions`. */
export const insertMentions = prepareForRows(
  { user_pk: 'bigint', space_pk: 'bigint', created_at: 'text', message_pk: 'bigint' },
  (db, rows) => db.insertInto('mentions').values(rows),
);

/** Stores whom a message mentions. */
export async function addMentions(
  trx: DatabaseTransaction,
  message: { space_pk: number; created_at: string; message_pk: number },
  users: readonly MentionedUser[],
): Promise<void> {
  await insertMentions(
    trx,
    users.map(({ pk }) => ({ ...message, user_pk: pk })),
  );
}

/** Returns whom messages mention, by their keys. */
export async function readMentions(
  db: Database,
  avatars: AvatarUrls,
  messages: readonly { pk: number; text: string }[],
): Promise<Map<number, UserSummary[]>> {
  const wanted = messages.filter(({ text }) => text.includes('@')).map(({ pk }) => ({ pk }));
  const rows = await findMentions(db, wanted);
  rows.sort((a, b) => a.user_pk - b.user_pk);
  const byMessage = Map.groupBy(rows, ({ message_pk }) => message_pk);
  return new Map(
    Array.from(byMessage, ([pk, users]) => [pk, users.map((user) => summarizeUser(avatars, user))]),
  );
}

const findMentions = prepareForSet({ pk: 'bigint' }, (db, rows) =>
  db
    .selectFrom('mentions')
    .innerJoin('users', 'users.pk', 'mentions.user_pk')
    .select(['message_pk', 'user_pk', 'user_id', 'username', 'avatar'])
    .where('message_pk', 'in', columnOf(rows, 'pk'))
    .where(isLiveUser('user_pk')),
);

/** SQL for the ids of the users whom a row of `messages` mentions, separated by commas; null if there are none. */
export const mentionedIds: RawBuilder<string | null> = sql`(
  SELECT string_agg(users.user_id, ',' ORDER BY users.user_id)
  FROM mentions JOIN users ON users.pk = mentions.user_pk
  WHERE mentions.message_pk = messages.pk AND ${isLiveUser('mentions.user_pk')}
)`;
