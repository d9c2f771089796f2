import type { Database } from '../database/engine.ts';
import { tagKey } from '../text/words/fold.ts';

const BATCH_SIZE = 1_000;

/**
 * Recomputes the keys of all tags after a change of `tagKey`, and merges tags whose keys have become equal. Folds the
 * stored keys again, so the new rules may only fold more than the old ones.
 */
export async function updateTagKeys(db: Database): Promise<void> {
  for (let after = 0; ; ) {
    const batch = await db
      .selectFrom('tags')
      .select(['tag_id', 'tag_key'])
      .where('tag_id', '>', after)
      .orderBy('tag_id')
      .limit(BATCH_SIZE)
      .execute();
    const last = batch.at(-1);
    if (!last) return;
    after = last.tag_id;
    for (const { tag_id, tag_key } of batch) {
      const key = tagKey(tag_key);
      if (key !== tag_key) await changeKey(db, tag_id, key);
    }
  }
}

async function changeKey(db: Database, tagId: number, key: string): Promise<void> {
  const existing = await db
    .selectFrom('tags')
    .select('tag_id')
    .where('tag_key', '=', key)
    .executeTakeFirst();
  if (!existing) {
    await db.updateTable('tags').set({ tag_key: key }).where('tag_id', '=', tagId).execute();
    return;
  }
  const spacesWithExisting = db
    .selectFrom('space_tags')
    .select('space_pk')
    .where('tag_id', '=', existing.tag_id);
  await db
    .deleteFrom('space_tags')
    .where('tag_id', '=', tagId)
    .where('space_pk', 'in', spacesWithExisting)
    .execute();
  await db
    .updateTable('space_tags')
    .set({ tag_id: existing.tag_id })
    .where('tag_id', '=', tagId)
    .execute();
  await db.deleteFrom('tags').where('tag_id', '=', tagId).execute();
}
