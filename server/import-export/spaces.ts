import { componentSchema } from '../contract.ts';
import type { DatabaseTransaction } from '../database/engine.ts';
import { isLiveSpace } from '../database/erased-rows.ts';
import { type ParameterType, prepareForRows } from '../database/prepared.ts';
import type { NewRow, Spaces } from '../database/schema.ts';
import { enqueueSpaces } from '../search/index-queue.ts';
import { invitationCodeFor } from '../spaces/invitation-codes.ts';
import { parseDescription, parseTitle } from '../spaces/space-text.ts';
import { parseTags } from '../spaces/tags.ts';
import { deriveId, timeOrNow } from './defaults.ts';
import { importableSpaceId, importableTime } from './importable.ts';
import { insertParticipations } from './participants.ts';
import { findUsers, requireKnown } from './references.ts';
import { BadLineError, convertLines, countRecords, type ImportRun, type Line } from './run.ts';
import { id, ownIdSchema, recordSchema, textSchema, time } from './schemas.ts';
import { addTags, type ImportedTags } from './tags.ts';

export interface SpaceRecord {
  type: 'space';
  space_id?: string;
  creator_id: string;
  title: string;
  description?: string;
  visibility?: 'public' | 'private';
  posting?: 'participants' | 'moderators';
  /** Only for a private space. At least 22 characters. If it is missing, the import generates one. */
  invitation_code?: string;
  tags?: string[];
  /**
   * The id of each tag. A tag that exists keeps its id. An id that belongs to another tag, or is greater than 2^52, is
   * not used.
   */
  tag_ids?: number[];
  created_at?: string;
  /** `read_until` of the creator's participation, which the import adds together with the space. */
  creator_read_until?: string | null;
  /** `is_muted` of the same participation. */
  creator_is_muted?: boolean;
}

/** The length of generated codes, 128 random bits in base64url. Shorter ones could be guessed. */
const MIN_INVITATION_CODE_LENGTH = 22;

const tagNames = componentSchema('SpaceCreation', 'tags');

export const spaceSchema = recordSchema('space', ['creator_id', 'title'], {
  space_id: ownIdSchema('space_id'),
  creator_id: id,
  title: textSchema('SpaceCreation', 'title'),
  description: textSchema('SpaceCreation', 'description'),
  visibility: { enum: ['public', 'private'] },
  posting: { enum: ['participants', 'moderators'] },
  invitation_code: { ...id, minLength: MIN_INVITATION_CODE_LENGTH },
  tags: {
    type: 'array',
    maxItems: tagNames.maxItems,
    items: { type: 'string', maxLength: tagNames.items?.maxLength },
  },
  tag_ids: {
    type: 'array',
    maxItems: tagNames.maxItems,
    items: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
  },
  created_at: time,
  creator_read_until: { ...time, type: ['string', 'null'] },
  creator_is_muted: { type: 'boolean' },
});

/** Number of spaces read at once. */
const SPACES_PER_BATCH = 500;

/** Reads batches instead of a stream, because a connection with an open stream cannot query the tags. */
export async function* readSpaces(db: DatabaseTransaction): AsyncIterable<SpaceRecord> {
  for (let lastPk = 0; ; ) {
    const rows = await db
      .selectFrom('spaces')
      .innerJoin('users', 'users.pk', 'spaces.creator_pk')
      .leftJoin('participations', (join) =>
        join
          .onRef('participations.space_pk', '=', 'spaces.pk')
          .onRef('participations.user_pk', '=', 'spaces.creator_pk'),
      )
      .select([
        'spaces.pk',
        'spaces.space_id',
        'users.user_id as creator_id',
        'spaces.title',
        'spaces.description',
        'spaces.visibility',
        'spaces.posting',
        'spaces.invitation_code',
        'spaces.created_at',
        'participations.read_until',
        'participations.is_muted',
      ])
      .where('spaces.pk', '>', lastPk)
      .where(isLiveSpace('spaces.pk'))
      .orderBy('spaces.pk')
      .limit(SPACES_PER_BATCH)
      .execute();
    const last = rows.at(-1);
    if (!last) return;
    lastPk = last.pk;
    const tags = await readTags(
      db,
      rows.map(({ pk }) => pk),
    );
    for (const row of rows) {
      const spaceTags = tags.get(row.pk) ?? [];
      yield {
        type: 'space',
        space_id: importableSpaceId(row.space_id),
        creator_id: row.creator_id,
        title: row.title,
        description: row.description,
        visibility: row.visibility,
        posting: row.posting,
        invitation_code: row.invitation_code ?? undefined,
        tags: spaceTags.map(({ tag_name }) => tag_name),
        tag_ids: spaceTags.map(({ tag_id }) => tag_id),
        created_at: importableTime(row.created_at),
        creator_read_until: row.read_until === null ? null : importableTime(row.read_until),
        creator_is_muted: row.is_muted === 1,
      };
    }
  }
}

/** Returns the tags of each space that has any, by the `pk` of the space. */
async function readTags(db: DatabaseTransaction, spacePks: readonly number[]) {
  const rows = await db
    .selectFrom('space_tags')
    .select(['space_pk', 'tag_id', 'tag_name'])
    .where('space_pk', 'in', spacePks)
    .orderBy('space_pk')
    .orderBy('position')
    .execute();
  return Map.groupBy(rows, ({ space_pk }) => space_pk);
}

const insertSpaces = prepareForRows(
  {
    space_id: 'text',
    creator_pk: 'bigint',
    title: 'text',
    description: 'text',
    visibility: 'text',
    posting: 'text',
    invitation_code: 'nullable text',
    participant_count: 'bigint',
    created_at: 'text',
    changed_in: 'bigint',
  } satisfies Record<keyof NewRow<'spaces'>, ParameterType>,
  (db, rows) =>
    db
      .insertInto('spaces')
      .values(
        rows.map((row) => ({
          ...row,
          visibility: row.visibility.$castTo<Spaces['visibility']>(),
          posting: row.posting.$castTo<Spaces['posting']>(),
        })),
      )
      .onConflict((conflict) => conflict.column('space_id').doNothing())
      .returning(['pk', 'space_id']),
);

export async function addSpaces(
  run: ImportRun,
  records: readonly Line<SpaceRecord>[],
): Promise<void> {
  const { trx, report, transaction } = run;
  const creators = await findUsers(run, records, 'creator_id');
  const valid = convertLines(run, records, (record) =>
    spaceOf(record, requireKnown(run, creators, record.creator_id, 'creator_id')),
  );
  const rows = await insertSpaces(
    trx,
    valid.map(({ content }) => ({ ...content.row, changed_in: transaction })),
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
      removed_by_pk: null,
      read_until: content.readUntil,
      is_moderator: 0,
      is_muted: content.isMuted,
      changed_in: transaction,
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

/** Returns the row and the tags of a space, and the read position and setting of its creator. */
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
    posting: record.posting ?? ('participants' as const),
    invitation_code: record.invitation_code ?? invitationCodeFor(visibility),
    // Set at the end of the import.
    participant_count: 0,
    created_at: createdAt,
  };
  const readUntil = record.creator_read_until ? timeOrNow(record.creator_read_until) : null;
  return { row, tags, readUntil, isMuted: record.creator_is_muted ? 1 : 0 };
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
