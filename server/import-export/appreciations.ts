import type { DatabaseTransaction } from '../database/engine.ts';
import { isLiveMessage, isLiveUser } from '../database/erased-rows.ts';
import { prepareForRows } from '../database/prepared.ts';
import { timeOrNow } from './defaults.ts';
import { importableTime } from './importable.ts';
import { findMessages, findUsers, requireKnown } from './references.ts';
import {
  BadLineError,
  contentsOf,
  convertLines,
  countRecords,
  type ImportRun,
  type Line,
} from './run.ts';
import { id, recordSchema, time } from './schemas.ts';

export interface AppreciationRecord {
  type: 'appreciation';
  message_id: string;
  user_id: string;
  created_at?: string;
}

export const appreciationSchema = recordSchema('appreciation', ['message_id', 'user_id'], {
  message_id: id,
  user_id: id,
  created_at: time,
});

export async function* readAppreciations(
  db: DatabaseTransaction,
): AsyncIterable<AppreciationRecord> {
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

const insertAppreciations = prepareForRows(
  { message_pk: 'bigint', user_pk: 'bigint', author_pk: 'bigint', created_at: 'text' },
  (db, rows) =>
    db
      .insertInto('appreciations')
      .values(rows)
      .onConflict((conflict) => conflict.doNothing())
      .returning('message_pk'),
);

export async function addAppreciations(
  run: ImportRun,
  records: readonly Line<AppreciationRecord>[],
): Promise<void> {
  const { trx, report } = run;
  const users = await findUsers(run, records, 'user_id');
  const messageIds = contentsOf(records).map(({ message_id }) => message_id);
  const messages = await findMessages(run, messageIds);
  const valid = convertLines(run, records, (record) => {
    const userPk = requireKnown(run, users, record.user_id, 'user_id');
    const message = requireKnown(run, messages, record.message_id, 'message_id');
    if (message.author_pk === userPk) {
      throw new BadLineError('is an appreciation of one’s own message');
    }
    return {
      message_pk: message.pk,
      user_pk: userPk,
      author_pk: message.author_pk,
      created_at: timeOrNow(record.created_at),
    };
  });
  const added = await insertAppreciations(trx, contentsOf(valid));
  countRecords(report, valid.length, added.length);
}
