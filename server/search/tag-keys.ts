import type { Database } from '../database/engine.ts';
import { tagKey } from '../text/words/fold.ts';

const BATCH_SIZE = 1_000;

/**
 * Brings the keys of all tags in step with rules that fold more than before. Merges tags that have become the same one.
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
  const same = await db
    .selectFrom('tags')
    .select('tag_id')
    .where('tag_key', '=', key)
    .executeTakeFirst();
  if (!same) {
    await db.updateTable('tags').set({ tag_key: key }).where('tag_id', '=', tagId).execute();
    return;
  }
  const spacesWithSame = db
    .selectFrom('space_tags')
    .select('space_pk')
    .where('tag_id', '=', same.tag_id);
  await db
    .deleteFrom('space_tags')
    .where('tag_id', '=', tagId)
    .where('space_pk', 'in', spacesWithSame)
    .execute();
  await db
    .updateTable('space_tags')
    .set({ tag_id: same.tag_id })
    .where('tag_id', '=', tagId)
    .execute();
  await db.deleteFrom('tags').where('tag_id', '=', tagId).execute();
}
