import type { Database } from '../database/engine.ts';
import { prepare } from '../database/prepared.ts';
import { DomainError } from '../errors.ts';
import { CONTROLS } from '../text/characters.ts';
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
    if (key === '' || CONTROLS.test(name)) {
      throw new DomainError(
        'invalid_request',
        'A tag has at least one character besides #. Control characters are not accepted.',
        [{ pointer: `/tags/${i}`, message: 'is empty or has control characters' }],
      );
    }
    if (!tags.has(key)) tags.set(key, { name, key });
  }
  return [...tags.values()];
}

const deleteSpaceTags = prepare({ spacePk: 'bigint' }, (db, { spacePk }) =>
  db.deleteFrom('space_tags').where('space_pk', '=', spacePk).returning('tag_id'),
);

const findOrAddTag = prepare({ tag_key: 'text' }, (db, { tag_key }) =>
  db
    .insertInto('tags')
    .values({ tag_key })
    // An update without effect, because `doNothing` would return no row for an existing tag.
    .onConflict((conflict) => conflict.column('tag_key').doUpdateSet({ tag_key }))
    .returning('tag_id'),
);

const insertSpaceTag = prepare(
  { space_pk: 'bigint', tag_id: 'bigint', position: 'bigint', tag_name: 'text' },
  (db, row) => db.insertInto('space_tags').values(row),
);

/** Replaces the tags of a space. Returns the ids of its former tags, for `deleteUnusedTags`. */
export async function setTags(
  db: Database,
  spacePk: number,
  tags: readonly TagName[],
): Promise<number[]> {
  const former = await deleteSpaceTags(db, { spacePk });
  for (const [position, { name, key }] of tags.entries()) {
    const [found] = await findOrAddTag(db, { tag_key: key });
    if (!found) throw new Error('The statement returned no tag_id.');
    await insertSpaceTag(db, { space_pk: spacePk, tag_id: found.tag_id, position, tag_name: name });
  }
  return former.map(({ tag_id }) => tag_id);
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
