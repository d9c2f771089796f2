import { columnOf, prepareForRows, prepareForSet } from '../database/prepared.ts';
import { insertSpaceTags, insertTags, selectTagsByKey, type TagName } from '../spaces/tags.ts';
import type { ImportRun } from './run.ts';

/** The tags of a space. */
export interface ImportedTags {
  names: readonly TagName[];
  /**
   * Ids for new tags, without those that are too great. A tag that exists keeps its id, and an id that belongs to
   * another tag is not used.
   */
  requestedIds: readonly { tag_id: number; tag_key: string }[];
}

/** Sets the tags of spaces that have none yet. */
export async function addTags(
  run: ImportRun,
  spaces: readonly { spacePk: number; tags: ImportedTags }[],
): Promise<void> {
  const tagIds = await addMissingTags(
    run,
    spaces.map(({ tags }) => tags),
  );
  const rows = spaces.flatMap(({ spacePk, tags }) =>
    tags.names.map(({ name, key }, position) => ({
      space_pk: spacePk,
      tag_id: tagIds.get(key) as number,
      position,
      tag_name: name,
    })),
  );
  await insertSpaceTags(run.trx, rows);
}

const selectTagsById = prepareForSet({ tag_id: 'bigint' }, (db, rows) =>
  db.selectFrom('tags').select('tag_id').where('tag_id', 'in', columnOf(rows, 'tag_id')),
);

const insertTagsWithIds = prepareForRows({ tag_id: 'bigint', tag_key: 'text' }, (db, rows) =>
  db.insertInto('tags').values(rows),
);

/** Adds the tags that do not exist, in the order of the spaces. Returns the id of each tag by its key. */
async function addMissingTags(
  { trx }: ImportRun,
  spaces: readonly ImportedTags[],
): Promise<Map<string, number>> {
  const keys = new Set(spaces.flatMap(({ names }) => names.map(({ key }) => key)));
  const wantedKeys = Array.from(keys, (tag_key) => ({ tag_key }));
  const existing = await selectTagsByKey(trx, wantedKeys);
  const ids = new Map(existing.map(({ tag_id, tag_key }) => [tag_key, tag_id]));

  const wantedIds = spaces
    .flatMap(({ requestedIds }) => requestedIds)
    .filter(({ tag_key }) => !ids.has(tag_key));
  const takenTags = await selectTagsById(trx, wantedIds);
  const takenIds = new Set(takenTags.map(({ tag_id }) => tag_id));

  let withId: { tag_id: number; tag_key: string }[] = [];
  // These keys follow those of `withId` in the file. `flush` inserts them in the same order.
  const withoutId = new Set<string>();
  const flush = async () => {
    await insertTagsWithIds(trx, withId);
    withId = [];
    const newKeys = Array.from(withoutId, (tag_key) => ({ tag_key }));
    for (const { tag_id, tag_key } of await insertTags(trx, newKeys)) {
      ids.set(tag_key, tag_id);
      takenIds.add(tag_id);
    }
    withoutId.clear();
  };

  for (const { names, requestedIds } of spaces) {
    for (const { tag_id, tag_key } of requestedIds) {
      if (ids.has(tag_key)) continue;
      // The database may assign the requested id to one of the earlier tags.
      if (withoutId.size > 0) await flush();
      if (ids.has(tag_key) || takenIds.has(tag_id)) continue;
      withId.push({ tag_id, tag_key });
      ids.set(tag_key, tag_id);
      takenIds.add(tag_id);
    }
    for (const { key } of names) {
      if (!ids.has(key)) withoutId.add(key);
    }
  }
  await flush();
  return ids;
}
