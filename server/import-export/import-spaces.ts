import { type ParameterType, prepareWriteMany } from '../database/prepared.ts';
import type { NewRow, Spaces } from '../database/schema.ts';
import { enqueueSpaces } from '../search/index-queue.ts';
import { invitationCodeFor } from '../spaces/invitation-codes.ts';
import { parseDescription, parseTitle } from '../spaces/space-text.ts';
import { parseTags } from '../spaces/tags.ts';
import { deriveId, timeOrNow } from './defaults.ts';
import { insertParticipations } from './import-participants.ts';
import { findUsers, requireKnown } from './import-references.ts';
import { convertLines, countRecords, type ImportRun, type Line } from './import-run.ts';
import { addTags, type ImportedTags } from './import-tags.ts';
import { BadLineError, type SpaceRecord } from './records.ts';

const insertSpaces = prepareWriteMany(
  {
    space_id: 'text',
    creator_pk: 'bigint',
    title: 'text',
    description: 'text',
    visibility: 'text',
    invitation_code: 'nullable text',
    participant_count: 'bigint',
    created_at: 'text',
  } satisfies Record<keyof NewRow<'spaces'>, ParameterType>,
  (db, rows) =>
    db
      .insertInto('spaces')
      .values(
        rows.map((row) => ({
          ...row,
          visibility: row.visibility.$castTo<Spaces['visibility']>(),
        })),
      )
      .onConflict((conflict) => conflict.column('space_id').doNothing())
      .returning(['pk', 'space_id']),
);

export async function addSpaces(
  run: ImportRun,
  records: readonly Line<SpaceRecord>[],
): Promise<void> {
  const { trx, report } = run;
  const creators = await findUsers(run, records, 'creator_id');
  const valid = convertLines(report, records, (record) =>
    spaceOf(record, requireKnown(creators, record.creator_id, 'creator_id')),
  );
  const rows = await insertSpaces(
    trx,
    valid.map(({ content }) => content.row),
  );
  countRecords(report, valid.length, rows.length);

  const pks = new Map(rows.map(({ space_id, pk }) => [space_id, pk]));
  const participations = [];
  const tags = [];
  for (const { content } of valid) {
    const pk = pks.get(content.row.space_id);
    if (pk === undefined) continue;
    // If several lines have the same id, only the first was added.
    pks.delete(content.row.space_id);
    participations.push({
      space_pk: pk,
      user_pk: content.row.creator_pk,
      joined_at: content.row.created_at,
      left_at: null,
      removed_at: null,
    });
    tags.push({ spacePk: pk, tags: content.tags });
  }
  await insertParticipations(trx, participations);
  await addTags(run, tags);
  await enqueueSpaces(
    trx,
    rows.map(({ pk }) => pk),
  );
}

/** Returns the row and the tags of a space. */
function spaceOf(record: SpaceRecord, creatorPk: number) {
  const title = parseTitle(record.title);
  const description = parseDescription(record.description ?? '');
  const tags = tagsOf(record);
  const createdAt = timeOrNow(record.created_at);
  const visibility = record.visibility ?? 'public';
  if (visibility === 'public' && record.invitation_code !== undefined) {
    throw new BadLineError('is public and has an invitation_code');
  }
  const row = {
    space_id:
      record.space_id ??
      deriveId('space', record.creator_id, title, description, record.created_at),
    creator_pk: creatorPk,
    title,
    description,
    visibility,
    invitation_code: record.invitation_code ?? invitationCodeFor(visibility),
    // Set at the end of the import.
    participant_count: 0,
    created_at: createdAt,
  };
  return { row, tags };
}

/** Greater ids are replaced. This leaves half of the range of safe integers for tags that are added later. */
const MAX_REQUESTED_TAG_ID = 2 ** 52;

function tagsOf({ tags = [], tag_ids: ids }: SpaceRecord): ImportedTags {
  const names = parseTags(tags);
  if (ids && ids.length !== tags.length) {
    throw new BadLineError('tag_ids must have one id for each tag');
  }
  // Parsed one by one, because `parseTags` drops duplicates, so `names` can be shorter than `ids`.
  const requestedIds = (ids ?? []).flatMap((tag_id, i) =>
    parseTags(tags.slice(i, i + 1)).map(({ key }) => ({ tag_id, tag_key: key })),
  );
  return {
    names,
    requestedIds: requestedIds.filter(({ tag_id }) => tag_id <= MAX_REQUESTED_TAG_ID),
  };
}
