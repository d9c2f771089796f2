import { sql } from 'kysely';
import type { Database, IndexableSpace, Indexer } from '../database/engine.ts';
import { isLiveSpace } from '../database/erased-rows.ts';
import { columnOf, prepareForRows, prepareForSet } from '../database/prepared.ts';
import type { PublicSpaces } from '../database/schema.ts';
import type { IndexedDocument } from '../database/word-index.ts';
import { indexWords, titleKey } from '../text/words/tokenize.ts';
import { documentKey, spacePkOf } from './order.ts';
import { fragmentsOf, INDEX_VERSION, RESULT_COLUMNS, readFragments } from './results.ts';
import { currentRevision } from './revision.ts';
import { addTagChanges, changeTagCounts, type TagCountChanges } from './tag-counts.ts';

/** Stands for the current value of `search_revision` in the revision of a new row. */
export const CURRENT_REVISION = -1;

// The search index consists of the word index and the tables `public_spaces` and `tag_hits`. A document is the entry of
// a public space in all of them, under the same key. `tag-counts.ts` counts the documents with each tag.

/** The functions that copies of the search index use, too. */
export const indexer: Indexer = {
  version: INDEX_VERSION,
  readSpaces: readPublicSpaces,
  rowOf,
  spacePkOf,
  async replaceSpaces({ wordIndex }, db, spacePks, spaces, revision) {
    const tagChanges: TagCountChanges = new Map();
    const { removed, added } = await replaceRows(db, spacePks, spaces, revision, tagChanges);
    await changeTagCounts(db, tagChanges);
    await wordIndex.remove(db, removed);
    await wordIndex.add(db, added);
  },
};

const readSpaces = prepareForSet({ pk: 'bigint' }, (db, rows) =>
  db
    .selectFrom('spaces')
    .innerJoin('users', 'users.pk', 'spaces.creator_pk')
    .select([
      'spaces.pk',
      'spaces.creator_pk',
      'spaces.visibility',
      'spaces.participant_count',
      'users.suspended_at',
      ...RESULT_COLUMNS,
    ])
    .where('spaces.pk', 'in', columnOf(rows, 'pk'))
    .where(isLiveSpace('spaces.pk')),
);

const readTagsOfSpaces = prepareForSet({ pk: 'bigint' }, (db, rows) =>
  db
    .selectFrom('space_tags')
    .select(['space_pk', 'tag_id', 'tag_name'])
    .where('space_pk', 'in', columnOf(rows, 'pk'))
    .orderBy('space_pk')
    .orderBy('position'),
);

const insertDocuments = prepareForRows(
  {
    key: 'bigint',
    space_pk: 'bigint',
    creator_pk: 'bigint',
    participant_count: 'bigint',
    title_key: 'text',
    head: 'text',
    tail: 'text',
    revision: 'bigint',
  },
  (db, rows) =>
    db.insertInto('public_spaces').values(
      rows.map((row) => ({
        ...row,
        revision: sql<number>`coalesce(nullif(${row.revision}, ${sql.lit(CURRENT_REVISION)}), ${currentRevision})`,
      })),
    ),
);

const insertTagHits = prepareForRows({ tag_id: 'bigint', key: 'bigint' }, (db, rows) =>
  db.insertInto('tag_hits').values(rows),
);

/** Returns those of the spaces that are public, and whose creators are not suspended. */
async function readPublicSpaces(
  source: Database,
  spacePks: readonly number[],
): Promise<IndexableSpace[]> {
  const pks = spacePks.map((pk) => ({ pk }));
  const found = await readSpaces(source, pks);
  const tags = Map.groupBy(await readTagsOfSpaces(source, pks), ({ space_pk }) => space_pk);
  return found
    .filter(({ visibility, suspended_at }) => visibility === 'public' && suspended_at === null)
    .map((row) => ({ ...row, tags: tags.get(row.pk) ?? [] }));
}

/**
 * Replaces the rows of spaces, except in the word index.
 * @param tagChanges receives the changes to make with `changeTagCounts`
 * @returns the keys to remove from the word index, and the documents to add then
 */
export async function replaceRows(
  db: Database,
  spacePks: readonly number[],
  spaces: readonly IndexableSpace[],
  revision: (spacePk: number) => number,
  tagChanges: TagCountChanges,
): Promise<{ removed: number[]; added: IndexedDocument[] }> {
  const removed = await deleteRows(db, spacePks, tagChanges);
  return { removed, added: await insertRows(db, spaces, revision, tagChanges) };
}

/** Returns the row of a space in `public_spaces`, without its revision. */
function rowOf(space: IndexableSpace): Omit<PublicSpaces, 'revision'> {
  return {
    key: documentKey(space.pk, space.participant_count),
    space_pk: space.pk,
    creator_pk: space.creator_pk,
    participant_count: space.participant_count,
    title_key: titleKey(space.title),
    ...fragmentsOf(space),
  };
}

/**
 * Adds spaces to the search index, except to the word index.
 * @returns the documents to add to the word index
 */
export async function insertRows(
  db: Database,
  spaces: readonly IndexableSpace[],
  revision: (spacePk: number) => number,
  tagChanges: TagCountChanges,
): Promise<IndexedDocument[]> {
  const keyed = spaces
    .map((space) => ({ key: documentKey(space.pk, space.participant_count), space }))
    // The tables and the word index are written faster in the order of their keys.
    .sort((a, b) => a.key - b.key);
  const rows = keyed.map(({ space }) => ({ ...rowOf(space), revision: revision(space.pk) }));
  await insertDocuments(db, rows);
  const tagHits = keyed.flatMap(({ key, space }) =>
    space.tags.map(({ tag_id }) => ({ tag_id, key })),
  );
  await insertTagHits(db, tagHits);
  addTagChanges(tagChanges, columnOf(tagHits, 'tag_id'), 1);
  return keyed.map(({ key, space }) => documentOf(space, key));
}

const deleteDocuments = prepareForRows({ pk: 'bigint' }, (db, rows) =>
  db
    .deleteFrom('public_spaces')
    .where('space_pk', 'in', columnOf(rows, 'pk'))
    .returning(['key', 'head', 'tail']),
);

const deleteTagHits = prepareForRows({ tag_id: 'bigint', key: 'bigint' }, (db, rows) => {
  const pairs = rows.map(({ tag_id, key }) => sql`(${tag_id}, ${key})`);
  return db
    .deleteFrom('tag_hits')
    .where(sql<boolean>`(tag_id, key) IN (VALUES ${sql.join(pairs)})`);
});

/**
 * Removes spaces from the search index, except from the word index. Skips those that are not indexed.
 * @returns the keys to remove from the word index
 */
async function deleteRows(
  db: Database,
  spacePks: readonly number[],
  tagChanges: TagCountChanges,
): Promise<number[]> {
  const deleted = await deleteDocuments(
    db,
    spacePks.map((pk) => ({ pk })),
  );
  const tagHits = deleted.flatMap((row) =>
    readFragments(row).tags.map(({ tag_id }) => ({ tag_id, key: row.key })),
  );
  await deleteTagHits(db, tagHits);
  addTagChanges(tagChanges, columnOf(tagHits, 'tag_id'), -1);
  return columnOf(deleted, 'key');
}

/** Returns what the word index contains of a space. */
export function documentOf(
  { title, description }: { title: string; description: string },
  key: number,
): IndexedDocument {
  const titleWords = indexWords(title);
  const all = new Set([...titleWords, ...indexWords(description)]);
  return { key, words: { title: titleWords, all: [...all] } };
}
