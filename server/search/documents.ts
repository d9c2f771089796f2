import { sql } from 'kysely';
import type { Tag } from '../../generated/types.gen.ts';
import type { Database, Engine } from '../database/engine.ts';
import { columnOf, prepareReadMany, prepareWriteMany } from '../database/prepared.ts';
import type { DocumentChanges, IndexedDocument } from '../database/word-index.ts';
import { indexWords, titleKey } from '../text/words/tokenize.ts';
import { documentKey } from './keys.ts';
import { fragmentsOf, readFragments } from './results.ts';
import { currentRevision } from './revision.ts';
import { sliceTerm } from './slices.ts';
import { addTagChanges, changeTagCounts, type TagCountChanges } from './tag-counts.ts';

// The search index consists of the word index and the tables `public_spaces` and `tag_hits`. A document is the entry of
// a public space in all of them, under the same key. `tag-counts.ts` counts the documents with each tag.

/** Updates the search index for one space. Call it in the transaction that changes the space, after the change. */
export async function indexSpace(engine: Engine, db: Database, spacePk: number): Promise<void> {
  const tagChanges: TagCountChanges = new Map();
  const { removed, added } = await replaceRows(db, [spacePk], tagChanges);
  await changeTagCounts(db, tagChanges);
  if (removed.length > 0) await engine.wordIndex.remove(db, removed);
  if (added.length > 0) await engine.wordIndex.add(db, added);
}

const readSpaces = prepareReadMany({ pk: 'bigint' }, (db, rows) =>
  db
    .selectFrom('spaces')
    .innerJoin('users', 'users.pk', 'spaces.creator_pk')
    .select([
      'spaces.pk',
      'spaces.space_id',
      'spaces.creator_pk',
      'spaces.title',
      'spaces.description',
      'spaces.visibility',
      'spaces.participant_count',
      'users.suspended_at',
    ])
    .where('spaces.pk', 'in', columnOf(rows, 'pk')),
);

const readTagsOfSpaces = prepareReadMany({ pk: 'bigint' }, (db, rows) =>
  db
    .selectFrom('space_tags')
    .select(['space_pk', 'tag_id', 'tag_name'])
    .where('space_pk', 'in', columnOf(rows, 'pk'))
    .orderBy('space_pk')
    .orderBy('position'),
);

const insertDocuments = prepareWriteMany(
  {
    key: 'bigint',
    space_pk: 'bigint',
    creator_pk: 'bigint',
    participant_count: 'bigint',
    title_key: 'text',
    head: 'text',
    tail: 'text',
  },
  (db, rows) =>
    db
      .insertInto('public_spaces')
      .values(rows.map((row) => ({ ...row, revision: currentRevision }))),
);

const insertTagHits = prepareWriteMany({ tag_id: 'bigint', key: 'bigint' }, (db, rows) =>
  db.insertInto('tag_hits').values(rows),
);

/** What the search index needs to know about a public space. */
export interface IndexableSpace {
  pk: number;
  space_id: string;
  creator_pk: number;
  title: string;
  description: string;
  participant_count: number;
  tags: readonly Tag[];
}

/**
 * Adds a public space to the search index that the current transaction has created. Unlike `indexSpace`, reads nothing:
 * on PostgreSQL, reading new rows conflicts with other transactions that add some.
 */
export async function indexNewSpace(
  engine: Engine,
  db: Database,
  space: IndexableSpace,
): Promise<void> {
  const tagChanges: TagCountChanges = new Map();
  const added = await insertRows(db, [space], tagChanges);
  await changeTagCounts(db, tagChanges);
  await engine.wordIndex.add(db, added);
}

/**
 * Removes spaces from the search index and adds them again, except in the word index. Spaces that are not public, and
 * those of suspended creators, are not added.
 * @param tagChanges receives the changes to make with `changeTagCounts`
 * @returns the changes to make in the word index
 */
export async function replaceRows(
  db: Database,
  spacePks: readonly number[],
  tagChanges: TagCountChanges,
): Promise<DocumentChanges> {
  const removed = await deleteRows(db, spacePks, tagChanges);
  const pks = spacePks.map((pk) => ({ pk }));
  const found = await readSpaces(db, pks);
  const tags = Map.groupBy(await readTagsOfSpaces(db, pks), ({ space_pk }) => space_pk);
  const spaces = found
    .filter(({ visibility, suspended_at }) => visibility === 'public' && suspended_at === null)
    .map((row) => ({ ...row, tags: tags.get(row.pk) ?? [] }));
  return { removed, added: await insertRows(db, spaces, tagChanges) };
}

/**
 * Adds spaces to the search index, except to the word index.
 * @returns the documents to add to the word index
 */
async function insertRows(
  db: Database,
  spaces: readonly IndexableSpace[],
  tagChanges: TagCountChanges,
): Promise<IndexedDocument[]> {
  const keyed = spaces
    .map((space) => ({ key: documentKey(space.pk, space.participant_count), space }))
    // The tables and the word index are written faster in the order of their keys.
    .sort((a, b) => a.key - b.key);
  const rows = keyed.map(({ key, space }) => ({
    key,
    space_pk: space.pk,
    creator_pk: space.creator_pk,
    participant_count: space.participant_count,
    title_key: titleKey(space.title),
    ...fragmentsOf(space, space.tags),
  }));
  await insertDocuments(db, rows);
  const tagHits = keyed.flatMap(({ key, space }) =>
    space.tags.map(({ tag_id }) => ({ tag_id, key })),
  );
  await insertTagHits(db, tagHits);
  addTagChanges(tagChanges, columnOf(tagHits, 'tag_id'), 1);
  return keyed.map(({ key, space }) => documentOf(space, key));
}

const deleteDocuments = prepareWriteMany({ pk: 'bigint' }, (db, rows) =>
  db
    .deleteFrom('public_spaces')
    .where('space_pk', 'in', columnOf(rows, 'pk'))
    .returning(['key', 'head', 'tail']),
);

const deleteTagHits = prepareWriteMany({ tag_id: 'bigint', key: 'bigint' }, (db, rows) => {
  const pairs = rows.map(({ tag_id, key }) => sql`(${tag_id}, ${key})`);
  return db
    .deleteFrom('tag_hits')
    .where(sql<boolean>`(tag_id, key) IN (VALUES ${sql.join(pairs)})`);
});

/**
 * Removes spaces from the search index, except from the word index. Skips those that are not indexed.
 * @returns the documents to remove from the word index
 */
async function deleteRows(
  db: Database,
  spacePks: readonly number[],
  tagChanges: TagCountChanges,
): Promise<IndexedDocument[]> {
  const deleted = await deleteDocuments(
    db,
    spacePks.map((pk) => ({ pk })),
  );
  const indexed = deleted.map((row) => ({ key: row.key, values: readFragments(row) }));
  const tagHits = indexed.flatMap(({ key, values }) =>
    values.tags.map(({ tag_id }) => ({ tag_id, key })),
  );
  await deleteTagHits(db, tagHits);
  addTagChanges(tagChanges, columnOf(tagHits, 'tag_id'), -1);
  return indexed.map(({ key, values }) => documentOf(values, key));
}

/** Moves a space in the search index if its participant count has reached another popularity step. */
export async function moveSpace(engine: Engine, db: Database, spacePk: number): Promise<void> {
  const row = await db
    .selectFrom('public_spaces')
    .select(['key', 'head', 'tail', 'participant_count'])
    .where('space_pk', '=', spacePk)
    .executeTakeFirst();
  if (!row) return;
  // A trigger has copied the count from `spaces`.
  const key = documentKey(spacePk, row.participant_count);
  if (key === row.key) return;
  const indexed = readFragments(row);
  // A space that moves down gets a new revision, so that lists already being read omit it instead of repeating it.
  const change = key > row.key ? { key, revision: currentRevision } : { key };
  await db.updateTable('public_spaces').set(change).where('key', '=', row.key).execute();
  const tags = indexed.tags.map(({ tag_id }) => tag_id);
  if (tags.length > 0) {
    await db
      .updateTable('tag_hits')
      .set({ key })
      .where('key', '=', row.key)
      .where('tag_id', 'in', tags)
      .execute();
  }
  await engine.wordIndex.remove(db, [documentOf(indexed, row.key)]);
  await engine.wordIndex.add(db, [documentOf(indexed, key)]);
}

/** Returns what the word index contains of a space. */
export function documentOf(
  { title, description }: { title: string; description: string },
  key: number,
): IndexedDocument {
  const titleWords = indexWords(title);
  const all = new Set([...titleWords, ...indexWords(description), sliceTerm(key)]);
  return { key, words: { title: titleWords, all: [...all] } };
}
