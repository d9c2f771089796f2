import type { DatabaseTransaction } from '../database/engine.ts';
import { isLiveUser } from '../database/erased-rows.ts';
import { prepareForRows } from '../database/prepared.ts';
import { timeOrNow } from './defaults.ts';
import { importableTime } from './importable.ts';
import { findUsers, requireKnown } from './references.ts';
import {
  BadLineError,
  contentsOf,
  convertLines,
  countRecords,
  type ImportRun,
  type Line,
} from './run.ts';
import { id, recordSchema, time } from './schemas.ts';

/** `user_id` has blocked `blocked_id`. */
export interface BlockRecord {
  type: 'block';
  user_id: string;
  blocked_id: string;
  created_at?: string;
}

export const blockSchema = recordSchema('block', ['user_id', 'blocked_id'], {
  user_id: id,
  blocked_id: id,
  created_at: time,
});

export async function* readBlocks(db: DatabaseTransaction): AsyncIterable<BlockRecord> {
  const rows = db
    .selectFrom('blocks')
    .innerJoin('users', 'users.pk', 'blocks.user_pk')
    .innerJoin('users as blocked', 'blocked.pk', 'blocks.blocked_pk')
    .select(['users.user_id', 'blocked.user_id as blocked_id', 'blocks.created_at'])
    .where(isLiveUser('blocks.user_pk'))
    .where(isLiveUser('blocks.blocked_pk'))
    .orderBy('blocks.user_pk')
    .orderBy('blocks.blocked_pk')
    .stream();
  for await (const { user_id, blocked_id, created_at } of rows) {
    yield { type: 'block', user_id, blocked_id, created_at: importableTime(created_at) };
  }
}

const insertBlocks = prepareForRows(
  { user_pk: 'bigint', blocked_pk: 'bigint', created_at: 'text' },
  (db, rows) =>
    db
      .insertInto('blocks')
      .values(rows)
      .onConflict((conflict) => conflict.doNothing())
      .returning('user_pk'),
);

export async function addBlocks(
  run: ImportRun,
  records: readonly Line<BlockRecord>[],
): Promise<void> {
  const { trx, report } = run;
  const users = await findUsers(run, records, 'user_id');
  const blocked = await findUsers(run, records, 'blocked_id');
  const valid = convertLines(run, records, (record) => {
    const userPk = requireKnown(run, users, record.user_id, 'user_id');
    const blockedPk = requireKnown(run, blocked, record.blocked_id, 'blocked_id');
    if (userPk === blockedPk) throw new BadLineError('is a block of oneself');
    return {
      user_pk: userPk,
      blocked_pk: blockedPk,
      created_at: timeOrNow(record.created_at),
    };
  });
  const added = await insertBlocks(trx, contentsOf(valid));
  countRecords(report, valid.length, added.length);
}
