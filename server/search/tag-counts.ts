import { type RawBuilder, sql } from 'kysely';
import type { CountedTag, Tag } from '../../generated/types.gen.ts';
import type { Database, Engine } from '../database/engine.ts';
import { HIDDEN_SPACES } from '../database/hidden-spaces.ts';
import { readPage } from '../database/keyset-page.ts';
import { columnOf, prepareForRows, prepareForSet } from '../database/prepared.ts';
import type { Page, PageRequest } from '../pagination.ts';
import { tagKey } from '../text/words/fold.ts';
import { readFragments } from './results.ts';

// `tag_prefixes` has a row for each prefix of a tag, with the tag's count, so that the most used tags with any prefix
// are the end of a range of its primary key. A changed count moves all rows of the tag, about ten.

/** Longer prefixes are truncated. `listTags` in the contract says so. */
const MAX_PREFIX_LENGTH = 30;

/** How the numbers of public spaces of tags change, by `tag_id`. */
export type TagCountChanges = Map<number, number>;

interface TagCount {
  tag_id: number;
  space_count: number;
}

export function addTagChanges(
  changes: TagCountChanges,
  tagIds: readonly number[],
  change: 1 | -1,
): void {
  for (const id of tagIds) changes.set(id, (changes.get(id) ?? 0) + change);
}

/** Changes the counts of tags. Call it in the transaction that changes `public_spaces`, after that change. */
export async function changeTagCounts(db: Database, changes: TagCountChanges): Promise<void> {
  const rows = Array.from(changes, ([tag_id, space_count]) => ({ tag_id, space_count })).filter(
    ({ space_count }) => space_count !== 0,
  );
  await deletePrefixes(db, rows);
  const changed = await addToCounts(db, rows);
  await deleteCounts(
    db,
    changed.filter(({ space_count }) => space_count === 0),
  );
  await insertPrefixes(db, rows);
}

const addToCounts = prepareForRows({ tag_id: 'bigint', space_count: 'bigint' }, (db, rows) =>
  db
    .insertInto('tag_counts')
    .values(rows)
    .onConflict((conflict) =>
      conflict.column('tag_id').doUpdateSet({
        space_count: sql`tag_counts.space_count + excluded.space_count`,
      }),
    )
    .returning(['tag_id', 'space_count']),
);

const deleteCounts = prepareForSet({ tag_id: 'bigint' }, (db, rows) =>
  db.deleteFrom('tag_counts').where('tag_id', 'in', columnOf(rows, 'tag_id')),
);

const deletePrefixes = prepareForSet(
  { tag_id: 'bigint' },
  (_, rows) => sql`
    DELETE FROM tag_prefixes
    WHERE (prefix, space_count, tag_id) IN (${prefixesOf(columnOf(rows, 'tag_id'))})`,
);

const insertPrefixes = prepareForSet(
  { tag_id: 'bigint' },
  (_, rows) => sql`
    INSERT INTO tag_prefixes (prefix, space_count, tag_id) ${prefixesOf(columnOf(rows, 'tag_id'))}`,
);

/** Returns SQL for the rows of `tag_prefixes` of the tags with these ids. */
function prefixesOf(tagIds: readonly unknown[]) {
  return sql`
    WITH RECURSIVE lengths (n) AS (
      SELECT 0 UNION ALL SELECT n + 1 FROM lengths WHERE n < ${sql.lit(MAX_PREFIX_LENGTH)}
    )
    SELECT substr(tags.tag_key, 1, n), tag_counts.space_count, tags.tag_id
    FROM tag_counts
    JOIN tags ON tags.tag_id = tag_counts.tag_id
    JOIN lengths ON n <= length(tags.tag_key)
    WHERE tag_counts.tag_id IN (${sql.join(tagIds)})`;
}

/** Returns a page of the tags of public spaces whose key begins like that of `prefix`, the most used first. */
export async function listTags(
  { searchIndex }: Pick<Engine, 'searchIndex'>,
  prefix: string,
  request: PageRequest,
): Promise<Page<CountedTag>> {
  const key = [...tagKey(prefix)].slice(0, MAX_PREFIX_LENGTH).join('');
  await searchIndex.update();
  return searchIndex.read(async (db) => {
    const counts = (await searchIndex.hasHiddenSpaces(db))
      ? visibleCounts(key)
      : countsWithPrefix(key);
    const query = db.selectFrom(counts.as('counts')).select(['space_count', 'tag_id']);
    const { items, next } = await readPage(query, ['space_count', 'tag_id'], 'desc', request);
    const spaces = await selectFirstSpaces(db, items);
    const tagsOf = new Map(spaces.map((row) => [row.tag_id, readFragments(row).tags]));
    return {
      items: items.map(({ tag_id, space_count }) => ({
        tag_id,
        tag_name: nameOf(tagsOf.get(tag_id) ?? [], tag_id),
        space_count,
      })),
      next,
    };
  });
}

function countsWithPrefix(prefix: string): RawBuilder<TagCount> {
  return sql`(SELECT tag_id, space_count FROM tag_prefixes WHERE prefix = ${prefix})`;
}

/**
 * Like `countsWithPrefix`, without hidden spaces, which a copy of the index still counts. Reads all of them, and all
 * tags with the prefix.
 */
function visibleCounts(prefix: string): RawBuilder<TagCount> {
  return sql`(
    SELECT tag_id, sum(spaces) AS space_count FROM (
      SELECT tag_id, space_count AS spaces FROM tag_prefixes WHERE prefix = ${prefix}
      UNION ALL
      SELECT json_extract(tag.value, '$.tag_id'), -1
      FROM (SELECT tail FROM ${HIDDEN_SPACES}), json_each('{' || substr(tail, 2), '$.tags') AS tag
    ) GROUP BY tag_id HAVING sum(spaces) > 0
  )`;
}

/**
 * Returns the most popular public space with each tag. It has the name of the tag, so that a spelling from a private
 * space is never shown.
 */
const selectFirstSpaces = prepareForSet({ tag_id: 'bigint' }, (db, rows) =>
  db
    .selectFrom('tags')
    .innerJoin('public_spaces', (join) =>
      join.on('public_spaces.key', '=', (from) =>
        from
          .selectFrom('tag_hits')
          .innerJoin('public_spaces as tagged', 'tagged.key', 'tag_hits.key')
          .innerJoin('users', 'users.pk', 'tagged.creator_pk')
          .select('tag_hits.key')
          .whereRef('tag_hits.tag_id', '=', 'tags.tag_id')
          .orderBy('tag_hits.key')
          .limit(1),
      ),
    )
    .select(['tags.tag_id', 'head', 'tail'])
    .where('tags.tag_id', 'in', columnOf(rows, 'tag_id')),
);

function nameOf(tags: readonly Tag[], tagId: number): string {
  const tag = tags.find(({ tag_id }) => tag_id === tagId);
  if (!tag) throw new Error(`A space is listed with tag ${tagId}, but does not have it.`);
  return tag.tag_name;
}
