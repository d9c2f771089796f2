import type { Tag } from '../../generated/types.gen.ts';
import type { Database } from '../database/engine.ts';
import { columnOf, prepare, prepareForRows, prepareForSet } from '../database/prepared.ts';
import { DomainError } from '../errors.ts';
import { CONTROLS, rejectControls, rejectDirectionControls } from '../text/characters.ts';
import { tagKey } from '../text/words/fold.ts';

/** A tag in its creator's spelling, with the key that identifies it. */
export interface TagName {
  name: string;
  key: string;
}

/**
 * Parses the tags of a space. Removes leading `#`. Of tags with the same key, keeps the first.
 * @throws DomainError `invalid_request`
 */
export function parseTags(names: readonly string[]): TagName[] {
  const tags = new Map<string, TagName>();
  for (const [i, text] of names.entries()) {
    const name = text.replace(/^[\s#]+|\s+$/gu, '').replace(/\s+/gu, ' ');
    const key = tagKey(name);
    const pointer = `/tags/${i}`;
    if (key === '') {
      throw new DomainError('invalid_request', 'A tag has at least one character besides #.', [
        { pointer, code: 'blank', message: 'is empty' },
      ]);
    }
    rejectControls(name, CONTROLS, 'A tag', pointer);
    rejectDirectionControls(name, 'A tag', pointer);
    if (!tags.has(key)) tags.set(key, { name, key });
  }
  return [...tags.values()];
}

const deleteSpaceTags = prepare({ spacePk: 'bigint' }, (db, { spacePk }) =>
  db.deleteFrom('space_tags').where('space_pk', '=', spacePk).returning('tag_id'),
);

export const selectTagsByKey = prepareForSet({ tag_key: 'text' }, (db, rows) =>
  db
    .selectFrom('tags')
    .select(['tag_id', 'tag_key'])
    .where('tag_key', 'in', columnOf(rows, 'tag_key')),
);

/** On PostgreSQL, fails with a conflict if another transaction has added one of the tags meanwhile. */
export const insertTags = prepareForRows({ tag_key: 'text' }, (db, rows) =>
  db
    .insertInto('tags')
    .values(rows)
    .onConflict((conflict) => conflict.doNothing())
    .returning(['tag_id', 'tag_key']),
);

export const insertSpaceTags = prepareForRows(
  { space_pk: 'bigint', tag_id: 'bigint', position: 'bigint', tag_name: 'text' },
  (db, rows) => db.insertInto('space_tags').values(rows),
);

/** Replaces the tags of a space. Returns the ids of its former tags, for `deleteUnusedTags`. */
export async function setTags(
  db: Database,
  spacePk: number,
  tags: readonly TagName[],
): Promise<number[]> {
  const former = await deleteSpaceTags(db, { spacePk });
  await addTags(db, spacePk, tags);
  return former.map(({ tag_id }) => tag_id);
}

/** Adds tags to a space that has none. Returns them in the same order. */
export async function addTags(
  db: Database,
  spacePk: number,
  tags: readonly TagName[],
): Promise<Tag[]> {
  const tagIds = await findOrAddTags(
    db,
    tags.map(({ key }) => key),
  );
  const rows = tags.map(({ name, key }, position) => ({
    space_pk: spacePk,
    tag_id: tagIds.get(key) as number,
    position,
    tag_name: name,
  }));
  await insertSpaceTags(db, rows);
  return rows.map(({ tag_id, tag_name }) => ({ tag_id, tag_name }));
}

/**
 * Returns the id of each tag by its key. Only inserts missing tags, because transactions that write the same tag
 * conflict, and in the order of their keys, because transactions that wait for each other's tags would deadlock.
 */
async function findOrAddTags(
  db: Database,
  keys: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const existing = await selectTagsByKey(
    db,
    keys.map((tag_key) => ({ tag_key })),
  );
  const ids = new Map(existing.map(({ tag_key, tag_id }) => [tag_key, tag_id]));
  const missing = keys.filter((key) => !ids.has(key)).sort();
  const added = await insertTags(
    db,
    missing.map((tag_key) => ({ tag_key })),
  );
  for (const { tag_key, tag_id } of added) ids.set(tag_key, tag_id);
  return ids;
}

/** Deletes the given tags, except those that a space still has. */
export async function deleteUnusedTags(db: Database, tagIds: readonly number[]): Promise<void> {
  if (tagIds.length === 0) return;
  await db
    .deleteFrom('tags')
    .where('tag_id', 'in', tagIds)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('space_tags')
            .select('tag_id')
            .whereRef('space_tags.tag_id', '=', 'tags.tag_id'),
        ),
      ),
    )
    .execute();
}
