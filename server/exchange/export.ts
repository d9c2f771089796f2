import type { DatabaseTransaction, Engine } from '../database/engine.ts';
import { readSnapshot } from '../database/transaction.ts';
import { readTags } from '../spaces/tags.ts';
import type {
  AppreciationRecord,
  ExchangeRecord,
  MessageRecord,
  ParticipantRecord,
  SpaceRecord,
  UserRecord,
} from './records.ts';

const BATCH = 500;

/**
 * Hands every record of the database to `write`, as of one moment, in an order in which they can be imported again.
 * Sessions are not among them, and neither are the avatar files.
 */
export async function exportRecords(
  engine: Engine,
  write: (record: ExchangeRecord) => Promise<void>,
): Promise<void> {
  await readSnapshot(engine.db, async (snapshot) => {
    for (const records of [users, spaces, participants, messages, appreciations]) {
      for await (const record of records(snapshot)) await write(record);
    }
  });
}

async function* users(db: DatabaseTransaction): AsyncIterable<UserRecord> {
  const rows = db
    .selectFrom('users')
    .select(['user_id', 'username', 'email', 'password_hash', 'bio', 'avatar', 'is_verified'])
    .select(['created_at', 'updated_at'])
    .orderBy('pk')
    .stream();
  for await (const { password_hash, avatar, is_verified, ...row } of rows) {
    yield {
      type: 'user',
      ...row,
      ...(password_hash !== null && { password_hash }),
      ...(avatar !== null && { picture: avatar }),
      is_verified: is_verified === 1,
    };
  }
}

/** In batches: a connection that streams rows has no room for the question after their tags. */
async function* spaces(db: DatabaseTransaction): AsyncIterable<SpaceRecord> {
  for (let after = 0; ; ) {
    const rows = await db
      .selectFrom('spaces')
      .innerJoin('users', 'users.pk', 'spaces.creator_pk')
      .select(['spaces.pk', 'spaces.space_id', 'users.user_id as creator_id', 'spaces.title'])
      .select(['spaces.description', 'spaces.visibility', 'spaces.invitation_code'])
      .select('spaces.created_at')
      .where('spaces.pk', '>', after)
      .orderBy('spaces.pk')
      .limit(BATCH)
      .execute();
    const last = rows.at(-1);
    if (!last) return;
    after = last.pk;
    const tags = await readTags(
      db,
      rows.map(({ pk }) => pk),
    );
    for (const { pk, invitation_code, ...row } of rows) {
      yield {
        type: 'space',
        ...row,
        ...(invitation_code !== null && { invitation_code }),
        tags: (tags.get(pk) ?? []).map(({ tag_name }) => tag_name),
      };
    }
  }
}

async function* participants(db: DatabaseTransaction): AsyncIterable<ParticipantRecord> {
  const rows = db
    .selectFrom('participations')
    .innerJoin('spaces', 'spaces.pk', 'participations.space_pk')
    .innerJoin('users', 'users.pk', 'participations.user_pk')
    .select([
      'spaces.space_id',
      'users.user_id',
      'participations.joined_at',
      'participations.left_at',
    ])
    .orderBy('participations.space_pk')
    .orderBy('participations.user_pk')
    .stream();
  for await (const row of rows) yield { type: 'participant', ...row };
}

async function* messages(db: DatabaseTransaction): AsyncIterable<MessageRecord> {
  const rows = db
    .selectFrom('messages')
    .innerJoin('spaces', 'spaces.pk', 'messages.space_pk')
    .innerJoin('users', 'users.pk', 'messages.author_pk')
    .select(['messages.message_id', 'spaces.space_id', 'users.user_id as author_id'])
    .select(['messages.text', 'messages.created_at'])
    .orderBy('messages.pk')
    .stream();
  for await (const row of rows) yield { type: 'message', ...row };
}

async function* appreciations(db: DatabaseTransaction): AsyncIterable<AppreciationRecord> {
  const rows = db
    .selectFrom('appreciations')
    .innerJoin('messages', 'messages.pk', 'appreciations.message_pk')
    .innerJoin('users', 'users.pk', 'appreciations.user_pk')
    .select(['messages.message_id', 'users.user_id', 'appreciations.created_at'])
    .orderBy('appreciations.message_pk')
    .orderBy('appreciations.user_pk')
    .stream();
  for await (const row of rows) yield { type: 'appreciation', ...row };
}
