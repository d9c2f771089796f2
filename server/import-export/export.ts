import { explainOldUsername } from '../accounts/old-usernames.ts';
import { reservedValues } from '../contract.ts';
import type { DatabaseTransaction, Engine } from '../database/engine.ts';
import { isLiveMessage, isLiveSpace, isLiveUser } from '../database/erased-rows.ts';
import { readSnapshot } from '../database/transaction.ts';
import { deriveId } from './defaults.ts';
import type {
  AppreciationRecord,
  DataRecord,
  MessageRecord,
  ParticipantRecord,
  SpaceRecord,
  UserRecord,
} from './records.ts';

/** Number of spaces read at once. */
const SPACES_PER_BATCH = 500;

/**
 * Passes all records of a snapshot of the database to `write`, in an order that can be imported. Does not export
 * sessions, reports or avatar files.
 */
export async function exportRecords(
  engine: Engine,
  write: (record: DataRecord) => Promise<void>,
): Promise<void> {
  await readSnapshot(engine.db, async (snapshot) => {
    for (const read of [readUsers, readSpaces, readParticipants, readMessages, readAppreciations]) {
      for await (const record of read(snapshot)) await write(record);
    }
  });
}

/**
 * Yields users with a skeleton from `distinctSkeleton` last. Imported first, such a user would get the plain skeleton,
 * because it is still free. Then the import would reject the user who has the plain skeleton in this database.
 */
async function* readUsers(db: DatabaseTransaction): AsyncIterable<UserRecord> {
  yield* readUsersWhere(db, 'not like');
  yield* readUsersWhere(db, 'like');
}

async function* readUsersWhere(
  db: DatabaseTransaction,
  operator: 'like' | 'not like',
): AsyncIterable<UserRecord> {
  const rows = db
    .selectFrom('users')
    .select([
      'user_id',
      'username',
      'username_skeleton',
      'email',
      'password_hash',
      'bio',
      'avatar',
      'is_verified',
      'created_at',
      'updated_at',
      'suspended_at',
    ])
    .where(isLiveUser('pk'))
    .where('username_skeleton', operator, '%#%')
    .orderBy('pk')
    .stream();
  for await (const row of rows) {
    yield {
      type: 'user',
      user_id: row.user_id,
      username: row.username,
      has_old_username: explainOldUsername(row) === undefined ? undefined : true,
      email: row.email,
      password_hash: row.password_hash ?? undefined,
      bio: row.bio,
      picture: row.avatar ?? undefined,
      is_verified: row.is_verified === 1,
      created_at: importableTime(row.created_at),
      updated_at: importableTime(row.updated_at),
      suspended_at: row.suspended_at === null ? undefined : importableTime(row.suspended_at),
    };
  }
}

/** Reads batches instead of a stream, because a connection with an open stream cannot query the tags. */
async function* readSpaces(db: DatabaseTransaction): AsyncIterable<SpaceRecord> {
  for (let lastPk = 0; ; ) {
    const rows = await db
      .selectFrom('spaces')
      .innerJoin('users', 'users.pk', 'spaces.creator_pk')
      .select([
        'spaces.pk',
        'spaces.space_id',
        'users.user_id as creator_id',
        'spaces.title',
        'spaces.description',
        'spaces.visibility',
        'spaces.invitation_code',
        'spaces.created_at',
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
        invitation_code: row.invitation_code ?? undefined,
        tags: spaceTags.map(({ tag_name }) => tag_name),
        tag_ids: spaceTags.map(({ tag_id }) => tag_id),
        created_at: importableTime(row.created_at),
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

async function* readParticipants(db: DatabaseTransaction): AsyncIterable<ParticipantRecord> {
  const rows = db
    .selectFrom('participations')
    .innerJoin('spaces', 'spaces.pk', 'participations.space_pk')
    .innerJoin('users', 'users.pk', 'participations.user_pk')
    .select([
      'spaces.space_id',
      'users.user_id',
      'participations.joined_at',
      'participations.left_at',
      'participations.removed_at',
    ])
    .where(isLiveSpace('participations.space_pk'))
    .orderBy('participations.space_pk')
    .orderBy('participations.user_pk')
    .stream();
  for await (const { space_id, user_id, joined_at, left_at, removed_at } of rows) {
    yield {
      type: 'participant',
      space_id: importableSpaceId(space_id),
      user_id,
      joined_at: importableTime(joined_at),
      left_at: left_at === null ? null : importableTime(left_at),
      removed_at: removed_at === null ? null : importableTime(removed_at),
    };
  }
}

async function* readMessages(db: DatabaseTransaction): AsyncIterable<MessageRecord> {
  const rows = db
    .selectFrom('messages')
    .innerJoin('spaces', 'spaces.pk', 'messages.space_pk')
    .innerJoin('users', 'users.pk', 'messages.author_pk')
    .select([
      'messages.message_id',
      'spaces.space_id',
      'users.user_id as author_id',
      'messages.text',
      'messages.created_at',
    ])
    .where(isLiveMessage)
    .orderBy('messages.pk')
    .stream();
  for await (const { message_id, space_id, author_id, text, created_at } of rows) {
    yield {
      type: 'message',
      message_id,
      space_id: importableSpaceId(space_id),
      author_id,
      text,
      created_at: importableTime(created_at),
    };
  }
}

async function* readAppreciations(db: DatabaseTransaction): AsyncIterable<AppreciationRecord> {
  const rows = db
    .selectFrom('appreciations')
    .innerJoin('messages', 'messages.pk', 'appreciations.message_pk')
    .innerJoin('users', 'users.pk', 'appreciations.user_pk')
    .select(['messages.message_id', 'users.user_id', 'appreciations.created_at'])
    .where(isLiveMessage)
    .where(isLiveUser('appreciations.user_pk'))
    .orderBy('appreciations.message_pk')
    .orderBy('appreciations.user_pk')
    .stream();
  for await (const { message_id, user_id, created_at } of rows) {
    yield { type: 'appreciation', message_id, user_id, created_at: importableTime(created_at) };
  }
}

const reservedSpaceIds = reservedValues('space_id');

/** Returns a `space_id` that can be imported. Older versions imported reserved ones, which get another id. */
function importableSpaceId(stored: string): string {
  return reservedSpaceIds.has(stored) ? deriveId('reserved', stored) : stored;
}

/**
 * Returns a time that can be imported. Older versions imported years with more than four digits, such as `+010000`, and
 * negative years. They become the nearest time with a year of four digits.
 */
function importableTime(stored: string): string {
  if (stored.startsWith('+')) return '9999-12-31T23:59:59.999Z';
  if (stored.startsWith('-')) return '0000-01-01T00:00:00.000Z';
  return stored;
}
