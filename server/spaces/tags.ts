import type { Tag } from '../../generated/types.gen.ts';
import type { Database, Engine } from '../database/engine.ts';
import { prepared } from '../database/prepared.ts';
import type { SpaceTags } from '../database/schema.ts';
import { DomainError } from '../errors.ts';
import { tagKey } from '../text/words/words.ts';

/** A tag as its space's creator wrote it, and what makes it the same tag as others. */
export interface TagName {
  name: string;
  key: string;
}

/**
 * Reads the tags given for a space: without the leading `#`, each tag once, in the first spelling.
 * @throws DomainError `invalid_request`
 */
export function parseTags(names: readonly string[]): TagName[] {
  const tags = new Map<string, TagName>();
  for (const [i, text] of names.entries()) {
    const name = text.replace(/^[\s#]+|\s+$/gu, '').replace(/\s+/gu, ' ');
    const key = tagKey(name);
    if (key === '' || /\p{Cc}/u.test(name)) {
      throw new DomainError(
        'invalid_request',
        'A tag has at least one character besides #, and no control characters.',
        [{ pointer: `/tags/${i}`, message: 'is empty or has control characters' }],
      );
    }
    if (!tags.has(key)) tags.set(key, { name, key });
  }
  return [...tags.values()];
}

const deleteTags = prepared<{ space: number }, { tag: number }>(({ db }, { space }) =>
  db.deleteFrom('space_tags').where('space', '=', space).returning('tag'),
);

const findOrAddTag = prepared<{ tag_key: string }, { id: number }>(({ db }, { tag_key }) =>
  db
    .insertInto('tags')
    .values({ tag_key })
    .onConflict((conflict) => conflict.column('tag_key').doUpdateSet({ tag_key }))
    .returning('id'),
);

const addTag = prepared<SpaceTags, never>(({ db }, values) =>
  db.insertInto('space_tags').values(values),
);

/** Makes these the tags of a space, in this order. Answers with the ids of those that it had before. */
export async function setTags(
  engine: Engine,
  db: Database,
  space: number,
  tags: readonly TagName[],
): Promise<number[]> {
  const former = await deleteTags(engine, { space }, db);
  for (const [position, { name, key }] of tags.entries()) {
    const [found] = await findOrAddTag(engine, { tag_key: key }, db);
    if (!found) throw new Error('A tag that was written has no id.');
    await addTag(engine, { space, tag: found.id, position, tag_name: name }, db);
  }
  return former.map(({ tag }) => tag);
}

/** The tags of each of the spaces. */
export async function readTags(
  db: Database,
  spaces: readonly number[],
): Promise<Map<number, Tag[]>> {
  const tags = new Map<number, Tag[]>(spaces.map((space) => [space, []]));
  if (spaces.length === 0) return tags;
  const rows = await db
    .selectFrom('space_tags')
    .select(['space', 'tag as tag_id', 'tag_name'])
    .where('space', 'in', spaces)
    .orderBy('space')
    .orderBy('position')
    .execute();
  for (const { space, ...tag } of rows) tags.get(space)?.push(tag);
  return tags;
}

/** Forgets those of the tags that no space carries any more. */
export async function deleteUnusedTags(db: Database, tags: readonly number[]): Promise<void> {
  if (tags.length === 0) return;
  await db
    .deleteFrom('tags')
    .where('id', 'in', tags)
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('space_tags').select('tag').whereRef('tag', '=', 'tags.id'))),
    )
    .execute();
}
