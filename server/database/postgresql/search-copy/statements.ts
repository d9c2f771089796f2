import { sql } from 'kysely';
import { isLiveSpace, isLiveUser } from '../../erased-rows.ts';
import { columnOf, prepare, prepareForRows, prepareForSet } from '../../prepared.ts';

// Statements on PostgreSQL.

export const selectPublic = prepareForSet({ pk: 'bigint' }, (db, rows) =>
  db
    .selectFrom('spaces')
    .select('spaces.pk')
    .innerJoin('users', 'users.pk', 'spaces.creator_pk')
    .where('spaces.pk', 'in', columnOf(rows, 'pk'))
    .where('visibility', '=', 'public')
    .where('suspended_at', 'is', null)
    .where(isLiveSpace('spaces.pk')),
);

export const selectUsers = prepareForSet({ pk: 'bigint' }, (db, rows) =>
  db
    .selectFrom('users')
    .select(['pk', 'user_id', 'username', 'avatar', 'suspended_at'])
    .where('pk', 'in', columnOf(rows, 'pk'))
    .where(isLiveUser('pk')),
);

export const selectTags = prepareForSet({ tag_id: 'bigint' }, (db, rows) =>
  db
    .selectFrom('tags')
    .select(['tag_id', 'tag_key'])
    .where('tag_id', 'in', columnOf(rows, 'tag_id')),
);

// Statements on the copy.

export const selectRows = prepareForSet({ space_pk: 'bigint' }, (db, rows) =>
  db.selectFrom('public_spaces').selectAll().where('space_pk', 'in', columnOf(rows, 'space_pk')),
);

export const selectTagsOf = prepareForSet(
  { key: 'bigint' },
  (_, rows) => sql<{ tag_id: number }>`
    SELECT DISTINCT json_extract(tag.value, '$.tag_id') AS tag_id
    FROM public_spaces, json_each('{' || substr(tail, 2), '$.tags') AS tag
    WHERE public_spaces.key IN (${sql.join(columnOf(rows, 'key'))})`,
);

export const selectLastChanges = prepareForSet(
  { space_pk: 'bigint' },
  (_, rows) => sql<{ space_pk: number; xid: number }>`
    SELECT space_pk, max(xid) AS xid FROM space_changes
    WHERE space_pk IN (${sql.join(columnOf(rows, 'space_pk'))}) GROUP BY space_pk`,
);

export const selectSpacesChangedBy = prepareForSet(
  { xid: 'bigint' },
  (_, rows) => sql<{ space_pk: number }>`
    SELECT space_pk FROM space_changes WHERE xid IN (${sql.join(columnOf(rows, 'xid'))})`,
);

export const insertSpaceChanges = prepareForRows(
  { xid: 'bigint', space_pk: 'bigint' },
  (_, rows) => sql`INSERT OR IGNORE INTO space_changes (xid, space_pk)
    VALUES ${sql.join(rows.map(({ xid, space_pk }) => sql`(${xid}, ${space_pk})`))}`,
);

export const updateCount = prepare(
  { space_pk: 'bigint', participant_count: 'bigint', revision: 'bigint' },
  (db, { space_pk, participant_count, revision }) =>
    db
      .updateTable('public_spaces')
      .set({ participant_count, revision })
      .where('space_pk', '=', space_pk),
);

export const insertPending = prepareForRows(
  { space_pk: 'bigint' },
  (_, rows) => sql`INSERT OR IGNORE INTO pending_spaces (space_pk)
    VALUES ${sql.join(rows.map(({ space_pk }) => sql`(${space_pk})`))}`,
);

export const insertPendingTransactions = prepareForRows(
  { xid: 'bigint', changes: 'bigint' },
  (_, rows) => sql`INSERT INTO pending_transactions (xid, after, changes)
    VALUES ${sql.join(rows.map(({ xid, changes }) => sql`(${xid}, 0, ${changes})`))}`,
);

export const deletePending = prepareForSet(
  { space_pk: 'bigint' },
  (_, rows) => sql`DELETE FROM pending_spaces
    WHERE space_pk IN (${sql.join(columnOf(rows, 'space_pk'))})`,
);

export const insertTags = prepareForRows(
  { tag_id: 'bigint', tag_key: 'text' },
  (_, rows) => sql`INSERT OR REPLACE INTO tags (tag_id, tag_key)
    VALUES ${sql.join(rows.map(({ tag_id, tag_key }) => sql`(${tag_id}, ${tag_key})`))}`,
);

export const deleteUnusedTags = prepareForSet(
  { tag_id: 'bigint' },
  (_, rows) => sql`DELETE FROM tags WHERE tag_id IN (${sql.join(columnOf(rows, 'tag_id'))})
    AND NOT EXISTS (SELECT 1 FROM tag_hits WHERE tag_hits.tag_id = tags.tag_id)`,
);

export const enqueueSpacesOf = prepareForSet(
  { pk: 'bigint' },
  (_, rows) => sql`INSERT OR IGNORE INTO erased_spaces (space_pk, key)
    SELECT space_pk, key FROM public_spaces WHERE creator_pk IN (${sql.join(columnOf(rows, 'pk'))})`,
);

export const deleteUsers = prepareForSet(
  { pk: 'bigint' },
  (_, rows) => sql`DELETE FROM users WHERE pk IN (${sql.join(columnOf(rows, 'pk'))})`,
);

export const insertUsers = prepareForRows(
  { pk: 'bigint', user_id: 'text', username: 'text', avatar: 'nullable text' },
  (_, rows) => sql`INSERT INTO users (pk, user_id, username, avatar)
    VALUES ${sql.join(rows.map((row) => sql`(${row.pk}, ${row.user_id}, ${row.username}, ${row.avatar})`))}
    ON CONFLICT (pk) DO UPDATE SET
      user_id = excluded.user_id, username = excluded.username, avatar = excluded.avatar
    WHERE (user_id, username, avatar) IS NOT (excluded.user_id, excluded.username, excluded.avatar)`,
);
