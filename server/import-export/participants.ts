import { sql } from 'kysely';
import type { DatabaseTransaction } from '../database/engine.ts';
import { isLiveSpace, isLiveUser } from '../database/erased-rows.ts';
import { type ParameterType, prepareForRows, prepareForSet } from '../database/prepared.ts';
import type { NewRow } from '../database/schema.ts';
import { enqueueSpaces } from '../search/index-queue.ts';
import { timeOrNow } from './defaults.ts';
import { importableSpaceId, importableTime } from './importable.ts';
import { findSpaces, findUsers, requireKnown } from './references.ts';
import { BadLineError, convertLines, countRecords, type ImportRun, type Line } from './run.ts';
import { id, recordSchema, time } from './schemas.ts';

export interface ParticipantRecord {
  type: 'participant';
  space_id: string;
  user_id: string;
  joined_at?: string;
  left_at?: string | null;
  /** When the user was removed from the space. Requires `left_at`. */
  removed_at?: string | null;
  /** The id of the user who has removed this one. Requires `removed_at`. */
  removed_by?: string | null;
  /** The `created_at` of the latest message that the user has marked as read. For the creator, see `SpaceRecord`. */
  read_until?: string | null;
  /** Only with `left_at: null`. */
  is_moderator?: boolean;
  /** Whether unread messages are not counted. For the creator, see `SpaceRecord`. */
  is_muted?: boolean;
}

export const participantSchema = recordSchema('participant', ['space_id', 'user_id'], {
  space_id: id,
  user_id: id,
  joined_at: time,
  left_at: { ...time, type: ['string', 'null'] },
  removed_at: { ...time, type: ['string', 'null'] },
  removed_by: { ...id, type: ['string', 'null'] },
  read_until: { ...time, type: ['string', 'null'] },
  is_moderator: { type: 'boolean' },
  is_muted: { type: 'boolean' },
});

export async function* readParticipants(db: DatabaseTransaction): AsyncIterable<ParticipantRecord> {
  const rows = db
    .selectFrom('participations')
    .innerJoin('spaces', 'spaces.pk', 'participations.space_pk')
    .innerJoin('users', 'users.pk', 'participations.user_pk')
    .leftJoin('users as removers', (join) =>
      join.onRef('removers.pk', '=', 'removed_by_pk').on(isLiveUser('removers.pk')),
    )
    .select([
      'spaces.space_id',
      'users.user_id',
      'removers.user_id as removed_by',
      'participations.joined_at',
      'participations.left_at',
      'participations.removed_at',
      'participations.read_until',
      'participations.is_moderator',
      'participations.is_muted',
    ])
    .where(isLiveSpace('participations.space_pk'))
    .orderBy('participations.space_pk')
    .orderBy('participations.user_pk')
    .stream();
  for await (const row of rows) {
    const { space_id, user_id, joined_at, left_at, removed_at, removed_by, read_until } = row;
    yield {
      type: 'participant',
      space_id: importableSpaceId(space_id),
      user_id,
      joined_at: importableTime(joined_at),
      left_at: left_at === null ? null : importableTime(left_at),
      removed_at: removed_at === null ? null : importableTime(removed_at),
      removed_by,
      read_until: read_until === null ? null : importableTime(read_until),
      is_moderator: row.is_moderator === 1,
      is_muted: row.is_muted === 1,
    };
  }
}

export const insertParticipations = prepareForRows(
  {
    space_pk: 'bigint',
    user_pk: 'bigint',
    joined_at: 'text',
    left_at: 'nullable text',
    removed_at: 'nullable text',
    removed_by_pk: 'nullable bigint',
    read_until: 'nullable text',
    is_moderator: 'bigint',
    is_muted: 'bigint',
    changed_in: 'bigint',
  } satisfies Record<keyof NewRow<'participations'>, ParameterType>,
  (db, rows) =>
    db
      .insertInto('participations')
      .values(rows)
      .onConflict((conflict) => conflict.doNothing())
      .returning('space_pk'),
);

export async function addParticipants(
  run: ImportRun,
  records: readonly Line<ParticipantRecord>[],
): Promise<void> {
  const { trx, report, transaction } = run;
  const spaces = await findSpaces(run, records);
  const users = await findUsers(run, records, 'user_id');
  const removers = await findUsers(run, removersIn(records), 'user_id');
  const valid = convertLines(run, records, (record) => {
    const space = requireKnown(run, spaces, record.space_id, 'space_id');
    const userPk = requireKnown(run, users, record.user_id, 'user_id');
    if (record.removed_at && !record.left_at) {
      throw new BadLineError('has removed_at without left_at');
    }
    if (record.removed_by && !record.removed_at) {
      throw new BadLineError('has removed_by without removed_at');
    }
    if (record.is_moderator && record.left_at) {
      throw new BadLineError('has is_moderator with left_at');
    }
    if (userPk === space.creator_pk) {
      if (record.left_at) throw new BadLineError('is the space’s creator, who cannot leave');
      // `addSpaces` has already added the creator.
      return undefined;
    }
    return {
      space_pk: space.pk,
      user_pk: userPk,
      joined_at: timeOrNow(record.joined_at),
      left_at: record.left_at ? timeOrNow(record.left_at) : null,
      removed_at: record.removed_at ? timeOrNow(record.removed_at) : null,
      removed_by_pk: record.removed_by
        ? requireKnown(run, removers, record.removed_by, 'removed_by')
        : null,
      read_until: record.read_until ? timeOrNow(record.read_until) : null,
      is_moderator: record.is_moderator ? 1 : 0,
      is_muted: record.is_muted ? 1 : 0,
      changed_in: transaction,
    };
  });
  const rows = valid.flatMap(({ content }) => content ?? []);
  const added = await insertParticipations(trx, rows);
  countRecords(report, valid.length, added.length);
  await enqueueSpaces(
    trx,
    added.map(({ space_pk }) => space_pk),
  );
}

/** Returns the users who have removed others, as lines with their ids. */
function removersIn(records: readonly Line<ParticipantRecord>[]): Line<{ user_id: string }>[] {
  return records.flatMap(({ content: { removed_by }, ...line }) =>
    removed_by ? { ...line, content: { user_id: removed_by } } : [],
  );
}

const selectParticipations = prepareForSet(
  { space_pk: 'bigint', user_pk: 'bigint' },
  (db, rows) => {
    const pairs = rows.map(({ space_pk, user_pk }) => sql`(${space_pk}, ${user_pk})`);
    return db
      .selectFrom('participations')
      .select(['space_pk', 'user_pk'])
      .where(sql<boolean>`(space_pk, user_pk) IN (VALUES ${sql.join(pairs)})`);
  },
);

/** A set of pairs of a space and a user who is or was its participant. */
export interface Participations {
  has(pair: { space_pk: number; user_pk: number }): boolean;
}

/** Returns the pairs in `wanted` that are participations in the database. */
export async function findParticipations(
  { trx }: ImportRun,
  wanted: readonly { space_pk: number; user_pk: number }[],
): Promise<Participations> {
  const keyOf = (each: { space_pk: number; user_pk: number }) => `${each.space_pk} ${each.user_pk}`;
  const rows = await selectParticipations(trx, wanted);
  const found = new Set(rows.map(keyOf));
  return { has: (pair) => found.has(keyOf(pair)) };
}
